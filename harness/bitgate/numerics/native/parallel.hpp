// Work shared among threads that live for one call: no state survives, so any process may load the library.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace bitgate::native {

// The number of threads worth starting: one start costs about as much as touching this many elements.
inline int threads_for(int64_t elements, int threads) {
  constexpr int64_t worth = 1 << 16;
  return static_cast<int>(std::clamp<int64_t>(elements / worth, 1, std::max(threads, 1)));
}

// Runs work(context, worker) on that many threads at once; this one is worker 0.
void on_threads(int threads, void (*work)(void* context, int worker), void* context);

// Runs body(task, worker) for every task in [0, tasks), in any order; worker < threads says whose partial
// sums to use. Tasks are taken in runs to keep the counter cool. The body is compiled once: loops of one
// thread and of many are the same.
template <class Body> void parallel_for(int64_t tasks, int threads, Body&& body) {
  threads = static_cast<int>(std::min<int64_t>(threads, tasks));
  const int64_t run = threads <= 1 ? tasks : std::max<int64_t>(1, tasks / (threads * 16));
  std::atomic<int64_t> next{0};
  auto work = [&](int worker) {
    for (int64_t begin; (begin = next.fetch_add(run)) < tasks;)
      for (int64_t task = begin, end = std::min(begin + run, tasks); task < end; ++task)
        body(task, worker);
  };
  on_threads(threads, [](void* self, int worker) { (*static_cast<decltype(work)*>(self))(worker); }, &work);
}

} // namespace bitgate::native
