// Whether a process that left its id somewhere still runs: ids are given out again, and in a container the next process
// has most often that of the last one.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// When this process started, in ticks since the machine did; with its id that is its name until then. Empty where
/// /proc does not say.
std::string ProcessStart();

/// Whether process `pid`, which began at `start`, no longer runs, as far as this one's process namespace shows.
bool ProcessIsGone(std::string_view pid, std::string_view start);

/// That, as `stat` says, the text of its /proc/PID/stat. Where that could not be read (another user's process, with
/// hidepid) `stat` is empty, and only a `kill_error` of ESRCH says so: errno of kill(PID, 0), 0 where it succeeded.
bool ProcessIsGone(std::string_view stat, int kill_error, std::string_view start);

}  // namespace assay
