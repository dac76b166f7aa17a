// One experiment in ns-3: senders, a switch and a receiver, a flow from each sender. Prints JSON.
//
// The queue before the receiver holds at most `limit` packets besides the one being sent, and marks a packet that finds `mark`
// or more of them: a RED queue as a step, or a FIFO without `mark`. Of these packets one is in the device's own queue, the
// others in the queue discipline. All other queues neither drop nor mark.

#include <algorithm>
#include <iostream>
#include <map>
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

namespace {

struct Flow
{
    Time start;
    uint64_t delivered = 0;
    uint64_t deliveredBefore = 0; // up to the beginning of the measurement
    Time finish;
    uint64_t sent = 0; // data segments
    uint64_t retransmitted = 0;
    uint64_t recoveries = 0;
    uint64_t timeouts = 0;
    SequenceNumber32 highest{0};
};

struct Settings
{
    std::string cc = "reno";
    uint32_t senders = 1;
    std::string rate = "1Gbps";
    std::string senderRate;
    std::string delay = "10us";
    uint32_t limit = 100;
    uint32_t mark = 0;
    uint64_t size = 0; // 0: until the end
    std::string starts = "0";
    double duration = 1;
    double from = 0;
    uint32_t segment = 1448;
    uint32_t initialCwnd = 10;
    uint32_t ackEvery = 2;
    std::string delayedAck = "40ms";
    std::string minRto = "200ms";
    std::string recovery = "prr";
    bool hystart = true;
    bool sack = true;
    bool timestamps = false;
    uint32_t seed = 1;
};

Settings settings;
std::vector<Flow> flows;

// How long so many packets waited before the receiver, from the beginning of the measurement.
std::vector<double> timeAt;
uint32_t inDiscipline = 0;
uint32_t inDevice = 0;
Time since;

void
CountTime()
{
    const Time begin = std::max(since, Seconds(settings.from));
    since = Simulator::Now();
    if (since <= begin)
    {
        return;
    }
    const uint32_t waiting = inDiscipline + inDevice;
    if (timeAt.size() <= waiting)
    {
        timeAt.resize(waiting + 1);
    }
    timeAt[waiting] += (since - begin).GetSeconds();
}

void
DisciplineChanged(uint32_t, uint32_t now)
{
    CountTime();
    inDiscipline = now;
}

void
DeviceChanged(uint32_t, uint32_t now)
{
    CountTime();
    inDevice = now;
}

void
Received(uint32_t flow, Ptr<const Packet> packet, const Address&)
{
    Flow& f = flows[flow];
    f.delivered += packet->GetSize();
    if (Simulator::Now() < Seconds(settings.from))
    {
        f.deliveredBefore = f.delivered;
    }
    if (f.delivered == settings.size)
    {
        f.finish = Simulator::Now();
    }
}

void
Sent(uint32_t flow, Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    Flow& f = flows[flow];
    f.sent++;
    f.retransmitted += header.GetSequenceNumber() < f.highest;
    f.highest = std::max(f.highest, header.GetSequenceNumber() + packet->GetSize());
}

void
StateChanged(uint32_t flow, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    flows[flow].recoveries += now == TcpSocketState::CA_RECOVERY;
    flows[flow].timeouts += now == TcpSocketState::CA_LOSS;
}

// A bulk application makes its socket when it starts, and has only sent a SYN a nanosecond later.
void
Watch(uint32_t flow, Ptr<BulkSendApplication> application)
{
    Ptr<Socket> socket = application->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeBoundCallback(&Sent, flow));
    socket->TraceConnectWithoutContext("CongState", MakeBoundCallback(&StateChanged, flow));
}

void
ConfigureTcp()
{
    const std::map<std::string, std::string> algorithms = {
        {"reno", "ns3::TcpLinuxReno"},
        {"newreno", "ns3::TcpNewReno"},
        {"cubic", "ns3::TcpCubic"},
        {"dctcp", "ns3::TcpDctcp"},
    };
    const auto set = [](const char* name, const AttributeValue& value) { Config::SetDefault(name, value); };
    set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(algorithms.at(settings.cc))));
    const bool prr = settings.recovery == "prr";
    set("ns3::TcpL4Protocol::RecoveryType",
        TypeIdValue(TypeId::LookupByName(prr ? "ns3::TcpPrrRecovery" : "ns3::TcpClassicRecovery")));
    set("ns3::TcpSocketBase::UseEcn", StringValue(settings.cc == "dctcp" ? "On" : "Off"));
    set("ns3::TcpSocketBase::Sack", BooleanValue(settings.sack));
    set("ns3::TcpSocketBase::Timestamp", BooleanValue(settings.timestamps));
    set("ns3::TcpSocketBase::MinRto", StringValue(settings.minRto));
    set("ns3::TcpSocketBase::ClockGranularity", StringValue("1ms"));
    set("ns3::TcpCubic::HyStart", BooleanValue(settings.hystart));
    set("ns3::RttEstimator::InitialEstimation", StringValue("1s"));
    set("ns3::TcpSocket::ConnTimeout", StringValue("1s"));
    set("ns3::TcpSocket::SegmentSize", UintegerValue(settings.segment));
    set("ns3::TcpSocket::InitialCwnd", UintegerValue(settings.initialCwnd));
    set("ns3::TcpSocket::DelAckCount", UintegerValue(settings.ackEvery));
    set("ns3::TcpSocket::DelAckTimeout", StringValue(settings.delayedAck));
    set("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    set("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
}

void
Print(const QueueDisc::Stats& stats)
{
    CountTime();
    std::ostringstream out;
    out << "{\"drops\": " << stats.nTotalDroppedPackets << ", \"marks\": " << stats.nTotalMarkedPackets
        << ", \"packets\": " << stats.nTotalSentPackets << ", \"time_at_length_s\": [";
    for (size_t n = 0; n < timeAt.size(); n++)
    {
        out << (n ? ", " : "") << timeAt[n];
    }
    out << "], \"flows\": [";
    for (size_t i = 0; i < flows.size(); i++)
    {
        const Flow& f = flows[i];
        out << (i ? ", " : "") << "{\"bytes\": " << f.delivered - f.deliveredBefore << ", \"fct_s\": ";
        if (f.finish.IsZero())
        {
            out << "null";
        }
        else
        {
            out << (f.finish - f.start).GetSeconds();
        }
        out << ", \"sent\": " << f.sent << ", \"retransmitted\": " << f.retransmitted
            << ", \"recoveries\": " << f.recoveries << ", \"timeouts\": " << f.timeouts << "}";
    }
    std::cout << out.str() << "]}" << std::endl;
}

} // namespace

int
main(int argc, char* argv[])
{
    CommandLine command(__FILE__);
    command.AddValue("cc", "reno, newreno, cubic or dctcp", settings.cc);
    command.AddValue("senders", "senders, with a flow each", settings.senders);
    command.AddValue("rate", "rate of the receiver's link", settings.rate);
    command.AddValue("senderRate", "rate of the senders' links, where it differs", settings.senderRate);
    command.AddValue("delay", "propagation delay of every link", settings.delay);
    command.AddValue("limit", "packets that may wait before the receiver", settings.limit);
    command.AddValue("mark", "of which this many mark; 0: none do", settings.mark);
    command.AddValue("size", "bytes of a flow; 0: until the end", settings.size);
    command.AddValue("starts", "when flows open, in seconds, separated by commas", settings.starts);
    command.AddValue("duration", "seconds simulated", settings.duration);
    command.AddValue("from", "queue and bytes are measured from this second on", settings.from);
    command.AddValue("segment", "bytes of a full segment", settings.segment);
    command.AddValue("initialCwnd", "initial window in segments", settings.initialCwnd);
    command.AddValue("ackEvery", "segments that one acknowledgement covers", settings.ackEvery);
    command.AddValue("delayedAck", "the latest that one is sent", settings.delayedAck);
    command.AddValue("minRto", "least retransmission timeout", settings.minRto);
    command.AddValue("recovery", "prr or classic", settings.recovery);
    command.AddValue("hystart", "CUBIC's HyStart", settings.hystart);
    command.AddValue("sack", "selective acknowledgements", settings.sack);
    command.AddValue("timestamps", "TCP timestamps, which ns-3 counts in milliseconds", settings.timestamps);
    command.AddValue("seed", "of random numbers", settings.seed);
    command.Parse(argc, argv);
    RngSeedManager::SetSeed(settings.seed);
    ConfigureTcp();

    std::istringstream starts(settings.starts);
    for (std::string start; std::getline(starts, start, ',');)
    {
        flows.emplace_back();
        flows.back().start = Seconds(std::stod(start));
    }
    if (flows.size() != settings.senders)
    {
        std::cerr << "starts: " << flows.size() << "; allowed: one for each of " << settings.senders << " senders\n";
        return 2;
    }

    NodeContainer senders(settings.senders);
    NodeContainer others(2);
    Ptr<Node> theSwitch = others.Get(0);
    Ptr<Node> receiver = others.Get(1);
    InternetStackHelper stack;
    stack.Install(senders);
    stack.Install(others);

    PointToPointHelper link;
    link.SetChannelAttribute("Delay", StringValue(settings.delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    TrafficControlHelper endless;
    endless.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000000p"));
    TrafficControlHelper bottleneck;
    const std::string rest = std::to_string(settings.limit - 1) + "p";
    if (settings.mark == 0)
    {
        bottleneck.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(rest));
    }
    else
    {
        const double step = settings.mark - 1;
        bottleneck.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(rest), "MinTh", DoubleValue(step),
                                    "MaxTh", DoubleValue(step), "QW", DoubleValue(1), "Gentle", BooleanValue(false),
                                    "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false), "MeanPktSize",
                                    UintegerValue(settings.segment));
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");

    link.SetDeviceAttribute("DataRate", StringValue(settings.rate));
    NetDeviceContainer last = link.Install(theSwitch, receiver);
    QueueDiscContainer discipline = bottleneck.Install(last.Get(0));
    endless.Install(last.Get(1));
    Ipv4Address address = addresses.Assign(last).GetAddress(1);
    discipline.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DisciplineChanged));
    PointerValue device;
    last.Get(0)->GetAttribute("TxQueue", device);
    device.Get<Queue<Packet>>()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DeviceChanged));

    link.SetDeviceAttribute("DataRate", StringValue(settings.senderRate.empty() ? settings.rate : settings.senderRate));
    for (uint32_t i = 0; i < settings.senders; i++)
    {
        NetDeviceContainer first = link.Install(senders.Get(i), theSwitch);
        endless.Install(first);
        addresses.NewNetwork();
        addresses.Assign(first);

        const InetSocketAddress sink(address, 5000 + i);
        PacketSinkHelper sinks("ns3::TcpSocketFactory", sink);
        sinks.Install(receiver).Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, i));
        BulkSendHelper bulk("ns3::TcpSocketFactory", sink);
        bulk.SetAttribute("MaxBytes", UintegerValue(settings.size));
        bulk.SetAttribute("SendSize", UintegerValue(64 * 1024));
        ApplicationContainer application = bulk.Install(senders.Get(i));
        application.Start(flows[i].start);
        Simulator::Schedule(flows[i].start + NanoSeconds(1), &Watch, i, DynamicCast<BulkSendApplication>(application.Get(0)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(settings.duration));
    Simulator::Run();
    Print(discipline.Get(0)->GetStats());
    Simulator::Destroy();
    return 0;
}
