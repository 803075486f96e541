// Lines of a worker: what is read is written so that it reads the same.
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "job/event.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  fuzz::Input input(data, size);
  while (!input.done()) {
    const Result<job::Event> event = job::EventFromJsonLine(input.Line());
    if (!event.ok()) {
      fuzz::Require(event.status().message().find('\n') == std::string::npos, "an error is one line");
      continue;
    }
    const std::string line = job::ToJsonLine(*event);
    const Result<job::Event> again = job::EventFromJsonLine(line);
    fuzz::Require(again.ok(), "what is written can be read");
    fuzz::Require(job::ToJsonLine(*again) == line, "an event is written the same again");
  }
  return 0;
}
