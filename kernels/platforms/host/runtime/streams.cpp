#include "streams.hpp"

#include <algorithm>
#include <bit>

#include "error.hpp"
#include "fault.hpp"
#include "schedule.hpp"
#include "settings.hpp"

namespace bitgate_host {
namespace {

constinit thread_local const WorkPlace* placeOfRunning = nullptr;

// Pieces of work that ran before a caller waited for them.
constexpr size_t mostRemembered = 4096;

template <class Entry> void forgetAwaited(std::vector<Entry>& entries, const Clock& host) {
  std::erase_if(entries, [&](const Entry& entry) { return host.covers(entry.stream, entry.sequence); });
}

} // namespace

const WorkPlace* runningWork() {
  return placeOfRunning;
}

Streams& streams() {
  static Streams& only = *new Streams;
  return only;
}

hipStream_t Streams::create(unsigned flags, int priority) {
  std::lock_guard lock(guard);
  const uint64_t number = nextNumber++;
  auto stream = std::make_unique<Stream>();
  stream->flags = flags;
  stream->priority = priority;
  streams[number] = std::move(stream);
  return reinterpret_cast<hipStream_t>(number);
}

void Streams::destroy(uint64_t number) {
  std::lock_guard lock(guard);
  streams.at(number)->destroyed = true;
  eraseIfOver(number);
}

bool Streams::find(hipStream_t handle, uint64_t& number) {
  number = reinterpret_cast<uint64_t>(handle);
  if (handle == hipStreamLegacy)
    number = nullStream;
  else if (handle == hipStreamPerThread)
    number = ofThisThread();
  std::lock_guard lock(guard);
  const auto at = streams.find(number);
  return at != streams.end() && !at->second->destroyed;
}

bool Streams::isLent(uint64_t number) {
  std::lock_guard lock(guard);
  return streams.at(number)->lent;
}
void Streams::lend(uint64_t number, bool lent) {
  std::lock_guard lock(guard);
  streams.at(number)->lent = lent;
}
unsigned Streams::flagsOf(uint64_t number) {
  std::lock_guard lock(guard);
  return streams.at(number)->flags;
}
int Streams::priorityOf(uint64_t number) {
  std::lock_guard lock(guard);
  return streams.at(number)->priority;
}

std::optional<Point> Streams::push(uint64_t number, std::shared_ptr<Work> work, const Point* after,
                                   Refusal& refusal) {
  std::lock_guard lock(guard);
  Stream& stream = *streams.at(number);
  if (capture && !joinsCapture(stream, after, work && work->isBookkeeping(), refusal))
    return std::nullopt;
  Clock& clock = stream.clock;
  clock.join(host);
  if (after)
    clock.join(after->before);
  if (number == nullStream)
    for (const auto& [other, blocking] : streams)
      if (other != nullStream && blocking->blocking())
        clock.join(blocking->clock);
  if (number != nullStream && stream.blocking())
    clock.join(streams.at(nullStream)->clock);
  Op op{{number, ++sequence, clock}, std::move(work), after ? *after : Point{}, after != nullptr};
  clock.reach(number, sequence);
  if (stream.captured) {
    if (op.work)
      capture->nodes.push_back({op.place, std::move(op.work)});
    return Point{number, sequence, clock, capture->number};
  }
  if (op.work && !op.work->hostMemory.empty()) {
    forgetAwaited(uses, host);
    for (const HostRange& memory : op.work->hostMemory)
      uses.push_back({number, sequence, memory, nameOn(number, op.work->name())});
  }
  stream.queue.push_back(std::move(op));
  return Point{number, sequence, clock};
}

Point Streams::endOf(uint64_t number) {
  std::lock_guard lock(guard);
  const Stream& stream = *streams.at(number);
  return {number, ~0ull, stream.clock, stream.captured ? capture->number : 0};
}

void Streams::runUntil(uint64_t number, uint64_t upTo) {
  for (;;) {
    uint64_t next;
    Point after;
    bool waits, blocking;
    {
      std::lock_guard lock(guard);
      const auto at = streams.find(number);
      if (at == streams.end())
        return;
      if (at->second->queue.empty())
        return eraseIfOver(number);
      const Op& front = at->second->queue.front();
      next = front.place.sequence;
      after = front.after;
      waits = front.waits;
      blocking = at->second->blocking();
    }
    if (next > upTo)
      return;
    if (waits)
      runUntil(after.stream, after.sequence);
    if (number == nullStream)
      for (uint64_t other : blockingStreams())
        runUntil(other, next);
    else if (blocking)
      runUntil(nullStream, next);
    runFront(number, next);
  }
}

void Streams::runAll() {
  std::vector<uint64_t> numbers;
  {
    std::lock_guard lock(guard);
    for (const auto& [number, stream] : streams)
      numbers.push_back(number);
  }
  if (settings().schedule == bitgateHostReverse)
    std::ranges::reverse(numbers);
  for (uint64_t number : numbers)
    runUntil(number, ~0ull);
}

void Streams::runOthersFirst(uint64_t number) {
  const Settings now = settings();
  if (now.schedule != bitgateHostReverse && now.schedule != bitgateHostRandom)
    return;
  struct Ahead {
    uint64_t number, upTo;
  };
  std::vector<Ahead> others;
  {
    std::lock_guard lock(guard);
    uint64_t place = 0;
    for (const auto& [other, stream] : streams) {
      ++place;
      const auto& queue = stream->queue;
      const auto end =
          std::ranges::find_if(queue, [](const Op& op) { return op.work && op.work->isHostFunction(); });
      auto count = static_cast<uint64_t>(end - queue.begin());
      if (now.schedule == bitgateHostRandom)
        count = mixed(now.seed ^ mixed(place ^ mixed(count))) % (count + 1);
      if (other != number && count)
        others.push_back({other, queue[count - 1].place.sequence});
    }
  }
  std::ranges::reverse(others);
  for (const Ahead& other : others)
    runUntil(other.number, other.upTo);
}

void Streams::await(const Point& point) {
  std::lock_guard lock(guard);
  host.join(point.before);
  forgetAwaited(done, host);
  forgetAwaited(uses, host);
}

void Streams::awaitAll() {
  std::lock_guard lock(guard);
  host.reachAll(sequence);
  done.clear();
  uses.clear();
}

uint64_t Streams::inFlight(uint64_t number, std::string& first) {
  std::lock_guard lock(guard);
  uint64_t found = 0;
  for (const Early& early : done)
    if (early.stream != number && !host.covers(early.stream, early.sequence) && !found++)
      first = early.name;
  for (const auto& [other, stream] : streams)
    for (const Op& op : stream->queue)
      if (other != number && op.work && !op.work->isBookkeeping() && !found++)
        first = nameOn(other, op.work->name());
  return found;
}

std::string Streams::unawaitedUseOf(HostRange memory) {
  std::lock_guard lock(guard);
  for (const Use& use : uses)
    if (use.memory.begin < memory.end && memory.begin < use.memory.end &&
        !host.covers(use.stream, use.sequence))
      return use.name;
  return {};
}

uint64_t Streams::oldest(uint64_t number) {
  std::lock_guard lock(guard);
  const auto at = streams.find(number);
  return at == streams.end() || at->second->queue.empty() ? 0 : at->second->queue.front().place.sequence;
}

void Streams::eraseIfOver(uint64_t number) {
  const auto at = streams.find(number);
  if (at->second->destroyed && at->second->queue.empty())
    streams.erase(at);
}

std::vector<uint64_t> Streams::blockingStreams() {
  std::lock_guard lock(guard);
  std::vector<uint64_t> numbers;
  for (const auto& [number, stream] : streams)
    if (number != nullStream && stream->blocking() && !stream->queue.empty())
      numbers.push_back(number);
  return numbers;
}

void Streams::runFront(uint64_t number, uint64_t expected) {
  Op op;
  {
    std::lock_guard lock(guard);
    const auto at = streams.find(number);
    if (at == streams.end())
      return; // destroyed meanwhile
    auto& queue = at->second->queue;
    if (queue.empty() || queue.front().place.sequence != expected)
      return;
    op = std::move(queue.front());
    queue.pop_front();
    if (op.work && !op.work->isBookkeeping() && !host.covers(number, expected)) {
      if (std::has_single_bit(done.size()))
        forgetAwaited(done, host);
      if (done.size() < mostRemembered)
        done.push_back({number, expected, nameOn(number, op.work->name())});
    }
  }
  // After a fault the device's work is dropped until the error has been reported.
  if (!op.work || (!op.work->isBookkeeping() && hasPendingError()))
    return;
  const WorkPlace* const around = placeOfRunning;
  placeOfRunning = &op.place;
  op.work->run();
  placeOfRunning = around;
}

uint64_t Streams::ofThisThread() {
  static thread_local uint64_t number = 0;
  if (!number)
    number = reinterpret_cast<uint64_t>(create(hipStreamDefault, 0));
  return number;
}

std::string Streams::nameOn(uint64_t number, const std::string& work) const {
  const auto at = streams.find(number);
  const bool lent = at != streams.end() && at->second->lent;
  return work + (number == nullStream ? " on the null stream"
                 : lent               ? " on the caller's stream"
                                      : " on a stream of its own");
}

// ---- captures

bool Streams::joinsCapture(Stream& stream, const Point* after, bool isBookkeeping, Refusal& refusal) {
  const bool waitsForCaptured = after && after->capture == capture->number;
  if (stream.captured && after && !waitsForCaptured)
    refusal = {hipErrorStreamCaptureIsolation,
               "it waits for an event that was recorded outside of the capture"};
  else if (stream.captured || isBookkeeping)
    return true;
  else if (waitsForCaptured)
    stream.captured = true;
  else if (&stream == streams.at(nullStream).get())
    refusal = {hipErrorStreamCaptureImplicit, "it is on the null stream, which is not captured"};
  else
    refusal = {hipErrorStreamCaptureUnsupported, "it is on a stream that is not captured"};
  capture->spoiled |= refusal.error != hipSuccess;
  return refusal.error == hipSuccess;
}

bool Streams::beginCapture(uint64_t number) {
  std::lock_guard lock(guard);
  if (capture)
    return false;
  streams.at(number)->captured = true;
  capture = Capture{++captures, number, false, {}};
  return true;
}

hipError_t Streams::endCapture(uint64_t number, std::vector<CapturedWork>& nodes) {
  std::lock_guard lock(guard);
  if (!capture || capture->origin != number)
    return hipErrorStreamCaptureUnmatched;
  const Clock& end = streams.at(number)->clock;
  const bool joined = std::ranges::all_of(capture->nodes, [&](const CapturedWork& node) {
    return end.covers(node.place.stream, node.place.sequence);
  });
  nodes = std::move(capture->nodes);
  const bool spoiled = capture->spoiled;
  capture.reset();
  for (const auto& [other, stream] : streams)
    stream->captured = false;
  return spoiled ? hipErrorStreamCaptureInvalidated : joined ? hipSuccess : hipErrorStreamCaptureUnjoined;
}

bool Streams::isCaptured(uint64_t number) {
  std::lock_guard lock(guard);
  return streams.at(number)->captured;
}

void Streams::spoilCapture() {
  std::lock_guard lock(guard);
  if (capture)
    capture->spoiled = true;
}

} // namespace bitgate_host
