// The threads of one call.
#include "parallel.hpp"

#include <thread>
#include <vector>

namespace bitgate::native {

void on_threads(int threads, void (*work)(void* context, int worker), void* context) {
  std::vector<std::thread> team;
  for (int i = 1; i < threads; ++i)
    team.emplace_back(work, context, i);
  work(context, 0);
  for (auto& member : team)
    member.join();
}

} // namespace bitgate::native
