// RED of ns-3 with open-loop traffic: bursts of packets at fixed times, a switch and a receiver. Prints JSON.
//
// Of the packets that wait before the receiver one is in the device's own queue, the others in RED's. Packets are
// ECN-capable, except the last `plain` ones of each burst. No packet is lost elsewhere.

#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

struct Settings
{
    double minTh = 5;
    double maxTh = 15;
    double weight = 0.002;
    double lInterm = 50;
    bool mark = true;
    std::string rate = "100Mbps";
    std::string senderRate = "1Gbps";
    uint32_t packet = 1250;  // bytes on the wire
    uint32_t burst = 8;      // packets
    uint32_t plain = 0;      // packets of a burst without ECN, the last ones
    double period = 0.0008;  // seconds between the beginnings of bursts
    uint32_t first = 4;      // packets before the first burst
    double lead = 0.000055;  // seconds between them and the first burst
    uint32_t bursts = 100000;
    uint32_t seed = 1;
};

Settings settings;

double queueIntegral = 0;
uint32_t inDiscipline = 0;
Time since;

void
DisciplineChanged(uint32_t, uint32_t now)
{
    const Time at = Simulator::Now();
    queueIntegral += inDiscipline * (at - since).GetSeconds();
    since = at;
    inDiscipline = now;
}

// Queues accept packets at once, so a burst is sent by one event and spaced by the sender's link.
void
SendBurst(Ptr<Socket> socket, uint32_t packets, uint32_t plain)
{
    // Bytes of the headers of PPP, IP and UDP.
    const uint32_t headers = 2 + 20 + 8;
    for (uint32_t i = 0; i < packets; i++)
    {
        // Sockets keep ECN bits out of their TOS, but not out of a packet's tag.
        SocketIpTosTag tos;
        tos.SetTos(i < packets - plain ? Ipv4Header::ECN_ECT0 : Ipv4Header::ECN_NotECT);
        Ptr<Packet> packet = Create<Packet>(settings.packet - headers);
        packet->AddPacketTag(tos);
        socket->Send(packet);
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    CommandLine command(__FILE__);
    command.AddValue("minTh", "average length in packets from which packets are marked or dropped", settings.minTh);
    command.AddValue("maxTh", "average length in packets from which all are", settings.maxTh);
    command.AddValue("weight", "weight of a length in the average", settings.weight);
    command.AddValue("lInterm", "reciprocal of the greatest probability below maxTh", settings.lInterm);
    command.AddValue("mark", "packets are marked instead of dropped", settings.mark);
    command.AddValue("rate", "rate of the receiver's link", settings.rate);
    command.AddValue("senderRate", "rate of the sender's link", settings.senderRate);
    command.AddValue("packet", "bytes of a packet on the wire", settings.packet);
    command.AddValue("burst", "packets of a burst", settings.burst);
    command.AddValue("plain", "packets of a burst without ECN", settings.plain);
    command.AddValue("period", "seconds between the beginnings of bursts", settings.period);
    command.AddValue("first", "packets before the first burst", settings.first);
    command.AddValue("lead", "seconds between them and the first burst", settings.lead);
    command.AddValue("bursts", "number of bursts", settings.bursts);
    command.AddValue("seed", "of random numbers", settings.seed);
    command.Parse(argc, argv);
    RngSeedManager::SetSeed(settings.seed);

    NodeContainer nodes(3);
    InternetStackHelper stack;
    stack.Install(nodes);
    PointToPointHelper link;
    link.SetChannelAttribute("Delay", StringValue("10us"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    TrafficControlHelper endless;
    endless.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000000p"));
    TrafficControlHelper bottleneck;
    // `Wait` doubles the distance between marks and is not in the paper. `Gentle` continues the ramp beyond maxTh.
    bottleneck.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue("1000p"), "MinTh",
                                DoubleValue(settings.minTh), "MaxTh", DoubleValue(settings.maxTh), "QW",
                                DoubleValue(settings.weight), "LInterm", DoubleValue(settings.lInterm), "Gentle",
                                BooleanValue(false), "Wait", BooleanValue(false), "UseEcn",
                                BooleanValue(settings.mark), "UseHardDrop", BooleanValue(false), "MeanPktSize",
                                UintegerValue(settings.packet), "LinkBandwidth", StringValue(settings.rate));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    link.SetDeviceAttribute("DataRate", StringValue(settings.rate));
    NetDeviceContainer last = link.Install(nodes.Get(1), nodes.Get(2));
    QueueDiscContainer discipline = bottleneck.Install(last.Get(0));
    endless.Install(last.Get(1));
    const Ipv4Address receiver = addresses.Assign(last).GetAddress(1);
    discipline.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DisciplineChanged));

    link.SetDeviceAttribute("DataRate", StringValue(settings.senderRate));
    NetDeviceContainer first = link.Install(nodes.Get(0), nodes.Get(1));
    endless.Install(first);
    addresses.NewNetwork();
    addresses.Assign(first);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const InetSocketAddress sink(receiver, 5000);
    PacketSinkHelper sinks("ns3::UdpSocketFactory", sink);
    Ptr<PacketSink> application = DynamicCast<PacketSink>(sinks.Install(nodes.Get(2)).Get(0));
    Ptr<Socket> socket = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
    socket->Connect(sink);
    // Routing is ready after a microsecond.
    const Time begin = MicroSeconds(1);
    Simulator::Schedule(begin, &SendBurst, socket, settings.first, 0U);
    for (uint32_t n = 0; n < settings.bursts; n++)
    {
        const Time at = begin + Seconds(settings.lead + n * settings.period);
        Simulator::Schedule(at, &SendBurst, socket, settings.burst, settings.plain);
    }
    const Time end = Seconds(settings.bursts * settings.period);
    Simulator::Stop(end);
    Simulator::Run();
    DisciplineChanged(0, inDiscipline);
    const QueueDisc::Stats& stats = discipline.Get(0)->GetStats();
    std::cout << "{\"arrived\": " << stats.nTotalReceivedPackets << ", \"drops\": " << stats.nTotalDroppedPackets
              << ", \"marks\": " << stats.nTotalMarkedPackets << ", \"received_bytes\": " << application->GetTotalRx()
              << ", \"mean_queue\": " << queueIntegral / end.GetSeconds() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
