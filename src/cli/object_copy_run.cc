#include "cli/object_copy_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "cli/object_output.h"
#include "cli/object_progress.h"
#include "cli/options.h"
#include "storage/copy/copy_object.h"
#include "storage/copy/copy_tree.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

constexpr char kStandardStream[] = "-";

const char* WordOf(storage::TreeCopyEvent::Outcome outcome) {
  using Outcome = storage::TreeCopyEvent::Outcome;
  switch (outcome) {
    case Outcome::kCopied:
      return "copy";
    case Outcome::kSkipped:
      return "skip";
    case Outcome::kPlanned:
      return "(dryrun) copy";
    case Outcome::kFailed:
      return "failed";
  }
  return "";
}

/// Prints what happens, and counts it.
class CopyReport : public storage::TreeCopyListener {
 public:
  CopyReport(const CopyFlags& flags, TransferProgress& progress) : flags_(flags), progress_(progress) {}

  void OnPlan(int64_t objects, int64_t bytes) override { progress_.SetTotal(bytes, objects); }
  void OnBytes(int64_t bytes) override { progress_.AddBytes(bytes); }
  void OnObject(const storage::TreeCopyEvent& event) override {
    using Outcome = storage::TreeCopyEvent::Outcome;
    progress_.AddObject();
    if (event.outcome == Outcome::kSkipped) {
      progress_.AddBytes(event.bytes);
    }
    if (event.outcome == Outcome::kFailed) {
      ++failed_;
      progress_.Print("assay object: " + OneLine(event.status.message()));
    }
    if (flags_.output == "json") {
      json_.push_back({{"from", event.from},
                       {"to", event.to},
                       {"bytes", event.bytes},
                       {"resumed_bytes", event.resumed_bytes},
                       {"outcome", WordOf(event.outcome)},
                       {"error", event.status.message()}});
    } else if (event.outcome != Outcome::kFailed && !flags_.quiet) {
      lines_.push_back(fmt::format("{}: {} to {}{}", WordOf(event.outcome), Escaped(event.from), Escaped(event.to),
                                   event.resumed_bytes > 0
                                       ? fmt::format(" ({} bytes were there already)", event.resumed_bytes)
                                       : std::string()));
    }
    Flush();
  }

  /// Lines go out as they come, JSON at the end.
  void Flush() {
    for (const std::string& line : lines_) {
      fmt::print("{}\n", line);
    }
    lines_.clear();
    std::fflush(stdout);
  }
  void Finish() {
    if (flags_.output == "json") {
      fmt::print("{}", DumpJsonPretty(json_));
    }
  }
  int64_t failed() const { return failed_; }

 private:
  const CopyFlags& flags_;
  TransferProgress& progress_;
  std::vector<std::string> lines_;
  nlohmann::json json_ = nlohmann::json::array();
  int64_t failed_ = 0;
};

Status ToStandardOutput(const CopyFlags& flags, const std::string& from) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, flags.store.Open(from));
  return PrintObject(place);
}

Status FromStandardInput(const CopyFlags& flags, const std::string& to) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, flags.store.Open(to));
  ASSAY_RETURN_IF_ERROR(CheckIsObject(place));
  ASSAY_ASSIGN_OR_RETURN(storage::WriteOptions write, flags.write.Make());
  const InterruptFlag interrupt;
  TransferProgress progress("writing");
  write.cancel = interrupt.get();
  write.progress = [&progress](int64_t bytes) { progress.AddBytes(bytes); };
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer,
                         place.store->OpenWriter(place.key, write));
  std::vector<std::byte> block(kBlockBytes);
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (storage::IsCancelled(interrupt.get())) {
      writer->Abort();
      return storage::CancelledStatus("write", place.uri);
    }
    if (got < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "read", "standard input");
    }
    if (got == 0) {
      return writer->Commit().status();
    }
    ASSAY_RETURN_IF_ERROR(writer->Write(storage::Bytes(block).first(static_cast<size_t>(std::max<ssize_t>(got, 0)))));
  }
}

storage::ObjectCopyOptions ObjectOptions(const CopyFlags& flags, storage::WriteOptions write) {
  storage::ObjectCopyOptions options;
  options.write = std::move(write);
  options.journal_folder = flags.no_resume ? std::string() : UserCacheDirectory() + "/uploads";
  return options;
}

/// The name under which a single object arrives: a bucket or a folder takes it under its own.
std::string TargetKey(const ObjectPlace& from, const ObjectPlace& to) {
  return to.key.empty() || to.key.ends_with('/') ? to.key + LastPart(from.key) : to.key;
}

Status CopyOne(const CopyFlags& flags, const ObjectPlace& from, const ObjectPlace& to,
               const storage::ObjectCopyOptions& options, CopyReport& report) {
  if (from.key.empty() || from.key.ends_with('/')) {
    return Status::InvalidArgument(
        fmt::format("'{}' is a bucket or a folder: add --recursive to copy all that is in it", from.uri));
  }
  ASSAY_ASSIGN_OR_RETURN(const storage::ObjectInfo info, storage::StatExisting(*from.store, from.key, "copy"));
  using Outcome = storage::TreeCopyEvent::Outcome;
  const std::string key = TargetKey(from, to);
  storage::TreeCopyEvent event{from.store->Uri(from.key), to.store->Uri(key), info.size, 0, Outcome::kPlanned, {}};
  report.OnPlan(1, info.size);
  if (!flags.dry_run) {
    storage::ObjectCopyOptions copy = options;
    copy.write.progress = [&report](int64_t bytes) { report.OnBytes(bytes); };
    ASSAY_ASSIGN_OR_RETURN(const storage::CopiedObject copied,
                           storage::CopyObject(*from.store, from.key, *to.store, key, copy));
    event.outcome = Outcome::kCopied;
    event.resumed_bytes = copied.resumed_bytes;
  }
  report.OnObject(event);
  return Status::Ok();
}

Status CopyFolder(const CopyFlags& flags, const ObjectPlace& from, const ObjectPlace& to,
                  const storage::ObjectCopyOptions& options, CopyReport& report) {
  storage::TreeCopyOptions tree;
  tree.object = options;
  tree.jobs = flags.jobs;
  tree.skip_equal = !flags.always;
  tree.dry_run = flags.dry_run;
  const Status status =
      storage::CopyTree({from.store.get(), AsFolder(from.key)}, {to.store.get(), AsFolder(to.key)}, tree, report);
  // Each failure has been printed.
  if (report.failed() > 0 && status.code() != ErrorCode::kAborted) {
    return {status.code(),
            fmt::format("{} of the objects could not be copied: run it again for those", report.failed())};
  }
  return status;
}

Status Copy(const CopyFlags& flags, const std::string& from, const std::string& to) {
  if (from == kStandardStream) {
    return FromStandardInput(flags, to);
  }
  if (to == kStandardStream) {
    return ToStandardOutput(flags, from);
  }
  ASSAY_ASSIGN_OR_RETURN(auto places, flags.store.OpenBoth(from, to));
  ASSAY_ASSIGN_OR_RETURN(storage::WriteOptions write, flags.write.Make());
  // A folder that does not exist yet is one all the same.
  if (flags.recursive && places.second.is_file() && !places.second.key.empty()) {
    ASSAY_ASSIGN_OR_RETURN(places.second, flags.store.Open(AsFolder(to)));
  }
  const InterruptFlag interrupt;
  write.cancel = interrupt.get();
  const storage::ObjectCopyOptions options = ObjectOptions(flags, std::move(write));
  TransferProgress progress("copying");
  CopyReport report(flags, progress);
  const Status status = flags.recursive ? CopyFolder(flags, places.first, places.second, options, report)
                                        : CopyOne(flags, places.first, places.second, options, report);
  if (status.ok() || flags.recursive) {
    report.Finish();
  }
  return status;
}

}  // namespace

void CopyFlags::AddTo(CLI::App& app) {
  app.add_flag("-r,--recursive", recursive, "A folder with all that is in it; what is equal there already is skipped");
  app.add_flag("--dry-run,--dryrun", dry_run, "Print what would be copied, copy nothing");
  app.add_flag("--always", always, "With --recursive: copy also what is equal");
  app.add_flag("--no-resume", no_resume, "Keep no journal of parts to go on from after a crash");
  app.add_flag("-q,--quiet", quiet, "Print failures only");
  app.add_option("--jobs", jobs, "Objects at a time")->check(WholeNumber(1, 256))->capture_default_str();
  AddOutputOption(app, output, {"text", "json"});
  write.AddTo(app);
  store.AddTo(app);
  store.decorators().AddStatsTo(app);
}

Status RunCopy(const CopyFlags& flags, const std::string& from, const std::string& to) {
  return flags.store.decorators().Counted([&] { return Copy(flags, from, to); });
}

}  // namespace assay::cli
