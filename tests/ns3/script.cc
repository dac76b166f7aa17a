// Plays a public script, whose steps come from standard input, on a TCP socket of ns-3. Prints how ns-3 differs; nothing if it
// does not. `docs/validation/conformance.md` describes the steps. The other end of the link is this program: it has no stack.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

using namespace ns3;

namespace {

constexpr int64_t MSS = 1000;
constexpr uint16_t PORT = 8080;
constexpr uint16_t PEER_PORT = 40000;
constexpr uint32_t PEER_ISN = 1000;
constexpr uint8_t WINDOW_SCALE = 8;
const Ipv4Address ADDRESS("192.0.2.1");
const Ipv4Address PEER_ADDRESS("192.0.2.2");
const Time TOLERANCE = MilliSeconds(5);
// Time in which everything that a step causes at once has happened.
const Time SETTLE = MicroSeconds(100);

struct Settings
{
    std::string cc = "cubic";
    uint32_t rtt = 100; // of the handshake, in milliseconds
    bool sack = true;
    bool timestamps = false;
    bool ecn = false;
    bool pacing = false;
    bool hystart = true;
    bool checksData = true;
};

// ns-3 answers otherwise than the script states.
struct Difference : std::runtime_error
{
    using std::runtime_error::runtime_error;
};

struct Step
{
    std::string text;
    Time first;
    Time last;
    std::string kind;
    std::vector<std::string> words;

    bool Has(const std::string& word) const
    {
        return std::find(words.begin(), words.end(), word) != words.end();
    }
};

// Bytes from the first up to the second; a single number is one segment.
using Range = std::pair<int64_t, int64_t>;

int64_t
Bytes(const std::string& segments)
{
    return std::llround(std::stod(segments) * MSS);
}

Range
ParseRange(const std::string& text)
{
    const size_t dash = text.find('-');
    const int64_t start = Bytes(text.substr(0, dash));
    return {start, dash == std::string::npos ? start + MSS : Bytes(text.substr(dash + 1))};
}

// The ranges that follow each `name`.
std::vector<Range>
RangesAfter(const Step& step, const std::string& name)
{
    std::vector<Range> ranges;
    for (size_t i = 0; i + 1 < step.words.size(); i++)
    {
        if (step.words[i] == name)
        {
            ranges.push_back(ParseRange(step.words[i + 1]));
        }
    }
    return ranges;
}

Step
ParseStep(const std::string& line)
{
    std::istringstream in(line);
    Step step;
    std::string time;
    in >> time >> step.kind;
    const size_t dots = time.find("..");
    const auto milliseconds = [](const std::string& text) { return Seconds(std::stod(text) / 1000); };
    step.text = line;
    step.first = milliseconds(time.substr(1, dots - 1));
    step.last = dots == std::string::npos ? step.first : milliseconds(time.substr(dots + 2));
    for (std::string word; in >> word;)
    {
        step.words.push_back(word);
    }
    return step;
}

std::string
Segments(double bytes)
{
    std::ostringstream out;
    out << bytes / MSS;
    return out.str();
}

// A packet of ns-3; positions are relative to the first payload byte of its sender.
struct Segment
{
    Time at;
    int64_t seq;
    int64_t length;
    int64_t ack;
    uint8_t flags;
    bool isEct;
    std::vector<Range> blocks;

    std::string Describe() const
    {
        return Segments(seq) + "-" + Segments(seq + length);
    }
};

// What `TCP_INFO` tells is protected.
struct Access : TcpSocketBase
{
    static const TcpSocketState& State(Ptr<TcpSocketBase> socket)
    {
        return *((*socket).*(&Access::m_tcb));
    }

    static const TcpTxBuffer& Buffer(Ptr<TcpSocketBase> socket)
    {
        return *((*socket).*(&Access::m_txBuffer));
    }
};

class Player
{
  public:
    explicit Player(const Settings& settings);
    void Play(const std::vector<Step>& steps);

  private:
    void Configure();
    void Establish();
    bool Receive(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&);
    void Accepted(Ptr<Socket> socket, const Address&);
    void Emit(uint8_t flags, int64_t seq, int64_t ack, const TcpOptionSack::SackList& blocks = {}, int64_t payload = 0,
              Ipv4Header::EcnType ecn = Ipv4Header::ECN_NotECT);
    uint32_t Echo(int64_t ack) const;
    void RunUntil(Time at);
    void ActAt(const Step& step);
    std::vector<Segment>::iterator Next(bool isData);

    void Write(const Step& step);
    void Ack(const Step& step);
    void ExpectData(const Step& step);
    void ExpectInfo(const Step& step);
    void Data(const Step& step);
    void ExpectReply(const Step& step);
    void CheckTime(Time at, Time first, Time last) const;
    std::string Info(const std::string& name) const;

    Settings m_settings;
    Ptr<SimpleNetDevice> m_device;
    Ptr<SimpleNetDevice> m_peer;
    Ptr<Socket> m_listener;
    Ptr<TcpSocketBase> m_socket;
    SequenceNumber32 m_isn{0};
    std::vector<Segment> m_captured;                        // those that no step has stated
    std::map<int64_t, std::vector<uint32_t>> m_timestamps; // of each transmission, by the byte after it; -1: the handshake
    bool m_echoesOriginal = false;
    int64_t m_sentToSocket = 0;
    Time m_now;
};

Player::Player(const Settings& settings)
    : m_settings(settings)
{
    Configure();
    Establish();
}

void
Player::Configure()
{
    const std::map<std::string, std::string> algorithms = {
        {"reno", "ns3::TcpLinuxReno"}, {"cubic", "ns3::TcpCubic"}, {"dctcp", "ns3::TcpDctcp"}};
    const auto set = [](const char* name, const AttributeValue& value) { Config::SetDefault(name, value); };
    set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(algorithms.at(m_settings.cc))));
    set("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpPrrRecovery")));
    set("ns3::TcpSocketBase::UseEcn", StringValue(m_settings.ecn ? "On" : "Off"));
    set("ns3::TcpSocketBase::Sack", BooleanValue(m_settings.sack));
    set("ns3::TcpSocketBase::Timestamp", BooleanValue(m_settings.timestamps));
    // The least timeout of ns-3 bounds it as a whole, that of Linux its variance.
    set("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200 + m_settings.rtt)));
    set("ns3::TcpSocketBase::ClockGranularity", StringValue("1ms"));
    set("ns3::TcpSocketState::EnablePacing", BooleanValue(m_settings.pacing));
    set("ns3::TcpCubic::HyStart", BooleanValue(m_settings.hystart));
    set("ns3::RttEstimator::InitialEstimation", StringValue("1s"));
    set("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    set("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    set("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    set("ns3::TcpSocket::DelAckTimeout", StringValue("40ms"));
    set("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    set("ns3::TcpSocket::RcvBufSize", UintegerValue(8 << 20));

    NodeContainer nodes(2);
    InternetStackHelper().Install(nodes.Get(0));
    SimpleNetDeviceHelper link;
    link.SetNetDevicePointToPointMode(true);
    const NetDeviceContainer devices = link.Install(nodes);
    m_device = DynamicCast<SimpleNetDevice>(devices.Get(0));
    m_peer = DynamicCast<SimpleNetDevice>(devices.Get(1));
    m_peer->SetReceiveCallback(MakeCallback(&Player::Receive, this));
    Ptr<Ipv4> ip = nodes.Get(0)->GetObject<Ipv4>();
    const uint32_t interface = ip->AddInterface(m_device);
    ip->AddAddress(interface, Ipv4InterfaceAddress(ADDRESS, "255.255.255.0"));
    ip->SetUp(interface);
    m_listener = Socket::CreateSocket(nodes.Get(0), TcpSocketFactory::GetTypeId());
    m_listener->Bind(InetSocketAddress(ADDRESS, PORT));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&Player::Accepted, this));
}

// Opens the connection from this side, with a handshake of the script's round trip.
void
Player::Establish()
{
    Emit(TcpHeader::SYN | (m_settings.ecn ? TcpHeader::ECE | TcpHeader::CWR : 0), -1, 0);
    RunUntil(SETTLE);
    if (m_captured.empty())
    {
        throw Difference("no SYN/ACK");
    }
    m_now = m_captured.front().at + MilliSeconds(m_settings.rtt);
    RunUntil(m_now);
    m_captured.clear();
    Emit(TcpHeader::ACK, 0, 0);
    RunUntil(m_now + SETTLE);
    if (!m_socket)
    {
        throw Difference("no connection");
    }
}

void
Player::Accepted(Ptr<Socket> socket, const Address&)
{
    m_socket = DynamicCast<TcpSocketBase>(socket);
    // The application reads everything at once.
    m_socket->SetRecvCallback(Callback<void, Ptr<Socket>>([](Ptr<Socket> from) {
        while (Ptr<Packet> packet = from->Recv())
        {
            if (packet->GetSize() == 0)
            {
                return;
            }
        }
    }));
}

bool
Player::Receive(Ptr<NetDevice>, Ptr<const Packet> received, uint16_t, const Address&)
{
    Ptr<Packet> packet = received->Copy();
    Ipv4Header ip;
    TcpHeader tcp;
    packet->RemoveHeader(ip);
    packet->RemoveHeader(tcp);
    if (tcp.GetFlags() & TcpHeader::SYN)
    {
        m_isn = tcp.GetSequenceNumber();
    }
    Segment segment;
    segment.at = Simulator::Now();
    segment.seq = tcp.GetSequenceNumber() - m_isn - 1;
    segment.length = packet->GetSize();
    segment.ack = tcp.GetAckNumber() - SequenceNumber32(PEER_ISN) - 1;
    segment.flags = tcp.GetFlags();
    segment.isEct = ip.GetEcn() != Ipv4Header::ECN_NotECT;
    if (tcp.HasOption(TcpOption::SACK))
    {
        for (const auto& [first, after] : DynamicCast<const TcpOptionSack>(tcp.GetOption(TcpOption::SACK))->GetSackList())
        {
            const SequenceNumber32 zero(PEER_ISN + 1);
            segment.blocks.emplace_back(first - zero, after - zero);
        }
    }
    if (tcp.HasOption(TcpOption::TS))
    {
        const uint32_t value = DynamicCast<const TcpOptionTS>(tcp.GetOption(TcpOption::TS))->GetTimestamp();
        m_timestamps[segment.length ? segment.seq + segment.length : -1].push_back(value);
    }
    m_captured.push_back(segment);
    return true;
}

// The timestamp to echo: that of the segment before byte `ack`.
uint32_t
Player::Echo(int64_t ack) const
{
    auto sent = m_timestamps.find(ack);
    if (sent == m_timestamps.end())
    {
        sent = m_timestamps.find(-1);
    }
    return sent == m_timestamps.end() ? 0 : m_echoesOriginal ? sent->second.front() : sent->second.back();
}

void
Player::Emit(uint8_t flags, int64_t seq, int64_t ack, const TcpOptionSack::SackList& blocks, int64_t payload,
             Ipv4Header::EcnType ecn)
{
    TcpHeader tcp;
    tcp.SetSourcePort(PEER_PORT);
    tcp.SetDestinationPort(PORT);
    tcp.SetFlags(flags);
    tcp.SetSequenceNumber(SequenceNumber32(PEER_ISN + 1 + seq));
    tcp.SetAckNumber(flags & TcpHeader::ACK ? m_isn + 1 + ack : SequenceNumber32(0));
    tcp.SetWindowSize(60000);
    if (flags & TcpHeader::SYN)
    {
        Ptr<TcpOptionWinScale> scale = CreateObject<TcpOptionWinScale>();
        scale->SetScale(WINDOW_SCALE);
        tcp.AppendOption(scale);
        if (m_settings.sack)
        {
            tcp.AppendOption(CreateObject<TcpOptionSackPermitted>());
        }
    }
    if (m_settings.timestamps)
    {
        Ptr<TcpOptionTS> timestamp = CreateObject<TcpOptionTS>();
        timestamp->SetTimestamp(Simulator::Now().GetMilliSeconds() + 1);
        timestamp->SetEcho(Echo(ack));
        tcp.AppendOption(timestamp);
    }
    if (!blocks.empty())
    {
        Ptr<TcpOptionSack> sack = CreateObject<TcpOptionSack>();
        for (const auto& block : blocks)
        {
            sack->AddSackBlock(block);
        }
        tcp.AppendOption(sack);
    }
    Ptr<Packet> packet = Create<Packet>(payload);
    packet->AddHeader(tcp);
    Ipv4Header ip;
    ip.SetSource(PEER_ADDRESS);
    ip.SetDestination(ADDRESS);
    ip.SetProtocol(TcpL4Protocol::PROT_NUMBER);
    ip.SetPayloadSize(packet->GetSize());
    ip.SetTtl(64);
    ip.SetEcn(ecn);
    packet->AddHeader(ip);
    m_peer->Send(packet, m_device->GetAddress(), Ipv4L3Protocol::PROT_NUMBER);
}

void
Player::RunUntil(Time at)
{
    if (at > Simulator::Now())
    {
        Simulator::Stop(at - Simulator::Now());
        Simulator::Run();
    }
}

std::vector<Segment>::iterator
Player::Next(bool isData)
{
    return std::find_if(m_captured.begin(), m_captured.end(),
                        [isData](const Segment& s) { return (s.length > 0) == isData; });
}

// Goes to the time of a step at which the script acts. Nothing unexpected may have come before.
void
Player::ActAt(const Step& step)
{
    m_now += step.first;
    RunUntil(m_now);
    if (!m_settings.checksData)
    {
        m_captured.clear();
    }
    if (const auto extra = Next(true); extra != m_captured.end())
    {
        throw Difference("sent " + extra->Describe());
    }
}

void
Player::Write(const Step& step)
{
    ActAt(step);
    m_socket->Send(Create<Packet>(Bytes(step.words[0])), 0);
    RunUntil(Simulator::Now() + SETTLE);
}

void
Player::Ack(const Step& step)
{
    ActAt(step);
    std::vector<Range> ranges = RangesAfter(step, "dsack");
    for (const Range& range : RangesAfter(step, "sack"))
    {
        ranges.push_back(range);
    }
    TcpOptionSack::SackList blocks;
    for (const auto& [start, end] : ranges)
    {
        blocks.emplace_back(m_isn + 1 + start, m_isn + 1 + end);
    }
    m_echoesOriginal = step.Has("echoes-original");
    Emit(TcpHeader::ACK | (step.Has("ece") ? TcpHeader::ECE : 0), m_sentToSocket, Bytes(step.words[0]), blocks);
    RunUntil(Simulator::Now() + SETTLE);
}

void
Player::CheckTime(Time at, Time first, Time last) const
{
    if (at < first - TOLERANCE || at > last + TOLERANCE)
    {
        char text[64];
        std::snprintf(text, sizeof text, "%+.1f ms from the stated time", (at - first).GetSeconds() * 1000);
        throw Difference(text);
    }
}

void
Player::ExpectData(const Step& step)
{
    const Time first = m_now + step.first;
    const Time last = m_now + step.last;
    Time at;
    for (const std::string& word : step.words)
    {
        if (!std::isdigit(static_cast<unsigned char>(word[0])))
        {
            break;
        }
        auto [start, end] = ParseRange(word);
        while (start < end)
        {
            while (Next(true) == m_captured.end())
            {
                if (Simulator::Now() > last + TOLERANCE)
                {
                    throw Difference("no segment " + Segments(start));
                }
                RunUntil(Simulator::Now() + SETTLE);
            }
            const auto next = Next(true);
            const Segment segment = *next;
            m_captured.erase(next);
            if (segment.seq != start)
            {
                throw Difference("sent " + segment.Describe() + ", not " + Segments(start));
            }
            if (step.Has("ect") && !segment.isEct)
            {
                throw Difference("not ECN-capable");
            }
            const bool isCwr = segment.flags & TcpHeader::CWR;
            if (isCwr != step.Has("cwr"))
            {
                throw Difference(isCwr ? "CWR" : "no CWR");
            }
            at = segment.at;
            CheckTime(at, first, last);
            start += segment.length;
        }
    }
    if (step.first > Time(0))
    {
        m_now = at;
    }
}

std::string
Player::Info(const std::string& name) const
{
    static const std::map<TcpSocketState::TcpCongState_t, std::string> states = {
        {TcpSocketState::CA_OPEN, "open"},
        {TcpSocketState::CA_DISORDER, "disorder"},
        {TcpSocketState::CA_CWR, "cwr"},
        {TcpSocketState::CA_RECOVERY, "recovery"},
        {TcpSocketState::CA_LOSS, "loss"},
    };
    const TcpSocketState& state = Access::State(m_socket);
    const TcpTxBuffer& buffer = Access::Buffer(m_socket);
    const auto count = [](uint32_t bytes) { return std::to_string(bytes / MSS); };
    if (name == "state")
    {
        return states.at(state.m_congState);
    }
    if (name == "cwnd")
    {
        return count(state.m_cWnd);
    }
    if (name == "ssthresh")
    {
        return state.m_ssThresh == state.m_initialSsThresh ? "inf" : count(state.m_ssThresh);
    }
    if (name == "unacked")
    {
        return count(state.m_highTxMark.Get() - buffer.HeadSequence());
    }
    if (name == "sacked")
    {
        return count(buffer.GetSacked());
    }
    if (name == "lost")
    {
        return count(buffer.GetLost());
    }
    if (name == "retrans")
    {
        return count(buffer.GetRetransmitsCount());
    }
    throw std::invalid_argument(name + ": no such value");
}

void
Player::ExpectInfo(const Step& step)
{
    m_now += step.first;
    RunUntil(m_now);
    for (const std::string& word : step.words)
    {
        const size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const std::string value = Info(name);
        if (value != word.substr(equals + 1))
        {
            throw Difference(name + " is " + value);
        }
    }
}

void
Player::Data(const Step& step)
{
    ActAt(step);
    const auto [start, end] = ParseRange(step.words[0]);
    for (int64_t seq = start; seq < end; seq += MSS)
    {
        const auto ecn = !m_settings.ecn    ? Ipv4Header::ECN_NotECT
                         : step.Has("ce") ? Ipv4Header::ECN_CE
                                          : Ipv4Header::ECN_ECT0;
        Emit(TcpHeader::ACK | (step.Has("cwr") ? TcpHeader::CWR : 0), seq, 0, {}, std::min(MSS, end - seq), ecn);
        RunUntil(Simulator::Now() + MicroSeconds(1));
    }
    RunUntil(Simulator::Now() + SETTLE);
}

void
Player::ExpectReply(const Step& step)
{
    const Time first = m_now + step.first;
    const Time last = m_now + step.last;
    while (Next(false) == m_captured.end())
    {
        if (Simulator::Now() > last + TOLERANCE)
        {
            throw Difference("no acknowledgement");
        }
        RunUntil(Simulator::Now() + SETTLE);
    }
    const auto next = Next(false);
    const Segment segment = *next;
    m_captured.erase(next);
    if (segment.ack != Bytes(step.words[0]))
    {
        throw Difference("acknowledged " + Segments(segment.ack));
    }
    const std::vector<Range>& blocks = segment.blocks;
    std::string reported = blocks.empty() ? "no block" : Segments(blocks[0].first) + "-" + Segments(blocks[0].second);
    for (const Range& block : RangesAfter(step, "sack"))
    {
        if (blocks.empty() || blocks[0] != block)
        {
            throw Difference("reported " + reported);
        }
    }
    const bool isDsack =
        !blocks.empty() && (blocks[0].second <= segment.ack ||
                            (blocks.size() > 1 && blocks[1].first <= blocks[0].first && blocks[0].first <= blocks[1].second));
    if (isDsack != step.Has("dsack"))
    {
        throw Difference("reported " + reported);
    }
    const bool isEce = segment.flags & TcpHeader::ECE;
    if (isEce != step.Has("ece"))
    {
        throw Difference(isEce ? "ECE" : "no ECE");
    }
    CheckTime(segment.at, first, last);
    if (step.first > Time(0))
    {
        m_now = segment.at;
    }
}

void
Player::Play(const std::vector<Step>& steps)
{
    using Action = void (Player::*)(const Step&);
    const std::map<std::string, Action> actions = {
        {"write", &Player::Write},     {"ack", &Player::Ack},   {"send", &Player::ExpectData},
        {"info", &Player::ExpectInfo}, {"data", &Player::Data}, {"reply", &Player::ExpectReply},
    };
    for (const Step& step : steps)
    {
        try
        {
            (this->*actions.at(step.kind))(step);
        }
        catch (const Difference& difference)
        {
            throw Difference(step.text + ": " + difference.what());
        }
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    Settings settings;
    CommandLine command(__FILE__);
    command.AddValue("cc", "reno, cubic or dctcp", settings.cc);
    command.AddValue("rtt", "round trip of the handshake in milliseconds", settings.rtt);
    command.AddValue("sack", "selective acknowledgements", settings.sack);
    command.AddValue("timestamps", "TCP timestamps", settings.timestamps);
    command.AddValue("ecn", "ECN", settings.ecn);
    command.AddValue("pacing", "pacing", settings.pacing);
    command.AddValue("hystart", "CUBIC's HyStart", settings.hystart);
    command.AddValue("checks_data", "whether everything that is sent must be stated", settings.checksData);
    command.Parse(argc, argv);
    std::vector<Step> steps;
    for (std::string line; std::getline(std::cin, line);)
    {
        steps.push_back(ParseStep(line));
    }
    try
    {
        Player(settings).Play(steps);
    }
    catch (const Difference& difference)
    {
        std::cout << difference.what() << std::endl;
    }
    return 0;
}
