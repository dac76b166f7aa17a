// Max-min fair rates by SimGrid's solver. Reads a network from standard input and prints JSON.
//
// The input: how many links, how many flows, how often to solve; the links' capacities; for each flow how many links it crosses, and
// which. Building the system and solving it are timed apart. Each time a new system is solved, for a solved one is not solved again.

#include <chrono>
#include <iostream>
#include <vector>

#include "simgrid/s4u/Engine.hpp"
#include "src/kernel/lmm/maxmin.hpp"

using namespace simgrid::kernel::lmm;

int main(int argc, char** argv)
{
    simgrid::s4u::Engine engine(&argc, argv);
    std::ios::sync_with_stdio(false);
    size_t links, flows, times;
    std::cin >> links >> flows >> times;
    std::vector<double> capacities(links);
    for (double& capacity : capacities)
        std::cin >> capacity;
    std::vector<std::vector<size_t>> paths(flows);
    for (auto& path : paths) {
        size_t length;
        std::cin >> length;
        path.resize(length);
        for (size_t& link : path)
            std::cin >> link;
    }
    if (!std::cin) {
        std::cerr << "the input ends too soon\n";
        return 2;
    }

    using Clock = std::chrono::steady_clock;
    auto since = [](Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); };
    std::vector<double> building, solving, rates(flows);
    for (size_t time = 0; time < times; ++time) {
        auto began = Clock::now();
        MaxMin system(false);
        std::vector<Constraint*> constraints;
        std::vector<Variable*> variables;
        for (double capacity : capacities)
            constraints.push_back(system.constraint_new(nullptr, capacity));
        for (const auto& path : paths) {
            variables.push_back(system.variable_new(nullptr, 1.0, -1.0, path.size()));
            for (size_t link : path)
                system.expand(constraints[link], variables.back(), 1.0);
        }
        building.push_back(since(began));
        began = Clock::now();
        system.solve();
        solving.push_back(since(began));
        for (size_t flow = 0; flow < flows; ++flow)
            rates[flow] = variables[flow]->get_value();
        for (Variable* variable : variables)
            system.variable_free(variable);
    }

    std::cout.precision(17);
    auto list = [](const char* name, const std::vector<double>& values) {
        std::cout << '"' << name << "\": [";
        for (size_t i = 0; i < values.size(); ++i)
            std::cout << (i ? ", " : "") << values[i];
        std::cout << ']';
    };
    std::cout << '{';
    list("building", building);
    std::cout << ", ";
    list("solving", solving);
    std::cout << ", ";
    list("rates", rates);
    std::cout << "}\n";
}
