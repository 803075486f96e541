#include "cli/object_copy_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/terminal.h"

namespace assay::cli {
namespace {

using Outcome = storage::TreeCopyEvent::Outcome;

const char* WordOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCopied:
      return "copy";
    case Outcome::kSkipped:
      return "skip";
    case Outcome::kPlanned:
      return "(dryrun) copy";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kRemoved:
      return "delete";
    case Outcome::kRemovalPlanned:
      return "(dryrun) delete";
  }
  return "";
}

nlohmann::json EventJson(const storage::TreeCopyEvent& event) {
  return {{"from", event.from},
          {"to", event.to},
          {"bytes", event.bytes},
          {"resumed_bytes", event.resumed_bytes},
          {"outcome", WordOf(event.outcome)},
          {"error", event.status.message()}};
}

std::string EventLine(const storage::TreeCopyEvent& event) {
  if (event.from.empty()) {
    return fmt::format("{}: {}\n", WordOf(event.outcome), Escaped(event.to));
  }
  const std::string resumed =
      event.resumed_bytes > 0 ? fmt::format(" ({} bytes were there already)", event.resumed_bytes) : std::string();
  return fmt::format("{}: {} to {}{}\n", WordOf(event.outcome), Escaped(event.from), Escaped(event.to), resumed);
}

}  // namespace

void CopyReport::OnObject(const storage::TreeCopyEvent& event) {
  if (!event.from.empty()) {
    progress_.AddObject();
  }
  if (event.outcome == Outcome::kSkipped) {
    progress_.AddBytes(event.bytes);
  }
  if (event.outcome == Outcome::kFailed) {
    ++failed_;
    progress_.Print("assay object: " + OneLine(event.status.message()));
  }
  if (options_.json) {
    progress_.Aside([&] { json_.Add(EventJson(event)); });
  } else if (event.outcome != Outcome::kFailed && !options_.quiet) {
    progress_.Aside([&] { fmt::print("{}", EventLine(event)); });
  }
}

void CopyReport::Finish() {
  if (options_.json) {
    progress_.Aside([this] {
      json_.Finish();
      fmt::print("\n");
    });
  }
}

}  // namespace assay::cli
