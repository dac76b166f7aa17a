// A permutation of DCTCP flows in a leaf-spine with one spine, in ns-3. Prints JSON: packet-hops and processor time.
//
// A packet-hop is one packet, data or ACK, over one link. Queues hold `limit` packets and mark a packet that finds `mark` or
// more of them.

#include <ctime>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

uint64_t packetHops = 0;

void
Received(Ptr<const Packet>)
{
    packetHops++;
}

void
ConfigureTcp(uint32_t segment)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue("200ms"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t leaves = 8;
    uint32_t hostsPerLeaf = 16;
    std::string rate = "10Gbps";
    std::string uplink = "80Gbps";
    std::string delay = "1us";
    std::string duration = "1ms";
    uint32_t limit = 100;
    uint32_t mark = 20;
    uint32_t segment = 1448;
    std::string receivers;
    CommandLine command(__FILE__);
    command.AddValue("leaves", "leaf switches", leaves);
    command.AddValue("hosts-per-leaf", "hosts of each leaf switch", hostsPerLeaf);
    command.AddValue("rate", "rate of the hosts' links", rate);
    command.AddValue("uplink", "rate of the links between leaf switches and the spine", uplink);
    command.AddValue("delay", "propagation delay of every link", delay);
    command.AddValue("duration", "simulated time", duration);
    command.AddValue("limit", "packets that a queue holds", limit);
    command.AddValue("mark", "of which this many mark", mark);
    command.AddValue("segment", "bytes of a full segment", segment);
    command.AddValue("receivers", "index of the receiver of each host's flow, separated by commas", receivers);
    command.Parse(argc, argv);
    ConfigureTcp(segment);

    std::vector<uint32_t> receiverOf;
    std::istringstream list(receivers);
    for (std::string receiver; std::getline(list, receiver, ',');)
    {
        receiverOf.push_back(std::stoul(receiver));
    }
    const uint32_t hosts = leaves * hostsPerLeaf;
    if (receiverOf.size() != hosts)
    {
        std::cerr << "receivers: " << receiverOf.size() << "; allowed: one for each of " << hosts << " hosts\n";
        return 2;
    }

    NodeContainer hostNodes(hosts);
    NodeContainer leafNodes(leaves);
    NodeContainer spine(1);
    InternetStackHelper stack;
    stack.Install(hostNodes);
    stack.Install(leafNodes);
    stack.Install(spine);

    PointToPointHelper link;
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    TrafficControlHelper queues;
    const double step = mark - 1;
    queues.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(std::to_string(limit - 1) + "p"), "MinTh",
                            DoubleValue(step), "MaxTh", DoubleValue(step), "QW", DoubleValue(1), "Gentle", BooleanValue(false),
                            "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false), "MeanPktSize",
                            UintegerValue(segment));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    std::vector<Ipv4Address> addressOf;
    const auto connect = [&](Ptr<Node> from, Ptr<Node> to, const std::string& linkRate) {
        link.SetDeviceAttribute("DataRate", StringValue(linkRate));
        NetDeviceContainer devices = link.Install(from, to);
        queues.Install(devices);
        for (uint32_t end = 0; end < 2; end++)
        {
            devices.Get(end)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Received));
        }
        const Ipv4Address address = addresses.Assign(devices).GetAddress(0);
        addresses.NewNetwork();
        return address;
    };
    for (uint32_t host = 0; host < hosts; host++)
    {
        addressOf.push_back(connect(hostNodes.Get(host), leafNodes.Get(host / hostsPerLeaf), rate));
    }
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
    {
        connect(leafNodes.Get(leaf), spine.Get(0), uplink);
    }
    for (uint32_t host = 0; host < hosts; host++)
    {
        const uint16_t port = 5000;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(hostNodes.Get(host));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(addressOf[receiverOf[host]], port));
        bulk.SetAttribute("SendSize", UintegerValue(64 * 1024));
        bulk.Install(hostNodes.Get(host));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Time(duration));
    const std::clock_t begin = std::clock();
    Simulator::Run();
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::cout << "{\"packet_hops\": " << packetHops << ", \"cpu_s\": " << seconds << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
