// What share of the processors a thread gets.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace assay {

/// From now on the calling thread, and threads that it starts, get about a tenth of a processor that others compute on;
/// all of one that is free. For good: what raises a priority needs a privilege.
inline void YieldToOtherThreads() {
  constexpr int kNice = 10;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
}

}  // namespace assay
