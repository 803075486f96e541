#include "engine/train/event_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "base/status.h"
#include "engine/model/status_error.h"

namespace assay::engine {

void EventWriter::write(const job::Event& event) {
  const std::lock_guard lock(mutex_);
  if (!is_over_) {
    write_line(event);
  }
}

void EventWriter::write_last(const job::Event& event) {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  try {
    write_line(event);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-worker: %s\n", error.what());
  }
}

void EventWriter::write_last_and_exit(const job::Event& event, int code) {
  write_last(event);
  std::fflush(stderr);
  ::_exit(code);
}

void EventWriter::write_line(const job::Event& event) {
  const std::string line = job::ToJsonLine(event) + "\n";
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(fd_, line.data() + written, line.size() - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
    } else if (errno == EPIPE) {
      throw ControllerGone();
    } else if (errno != EINTR) {
      throw StatusError(ErrnoStatus(errno, "write events to", "standard output"));
    }
  }
}

}  // namespace assay::engine
