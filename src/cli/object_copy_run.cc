#include "cli/object_copy_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <vector>

#include "base/files.h"
#include "cli/object_copy_report.h"
#include "cli/object_output.h"
#include "cli/object_progress.h"
#include "cli/options.h"
#include "storage/copy/copy_object.h"
#include "storage/copy/copy_tree.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

constexpr char kStandardStream[] = "-";

Status ToStandardOutput(const CopyFlags& flags, const std::string& from) {
  if (flags.output == "json") {
    return Status::InvalidArgument("'-' and --output json both want standard output: choose one");
  }
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, flags.store.Open(from));
  return PrintObject(place);
}

/// To its end. Returns the bytes.
Result<int64_t> SendStandardInput(storage::ObjectWriter& writer, const std::string& uri, storage::CancelFlag cancel) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  std::vector<std::byte> block(kBlockBytes);
  int64_t bytes = 0;
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (storage::IsCancelled(cancel)) {
      writer.Abort();
      return storage::CancelledStatus("write", uri);
    }
    if (got < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "read", "standard input");
    }
    if (got == 0) {
      return bytes;
    }
    const auto taken = static_cast<size_t>(std::max<ssize_t>(got, 0));
    ASSAY_RETURN_IF_ERROR(writer.Write(storage::Bytes(block).first(taken)));
    bytes += static_cast<int64_t>(taken);
  }
}

Status FromStandardInput(const CopyFlags& flags, const std::string& to) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, flags.store.Open(to));
  ASSAY_RETURN_IF_ERROR(CheckIsObject(place));
  ASSAY_ASSIGN_OR_RETURN(storage::WriteOptions write, flags.write.Make());
  const InterruptFlag interrupt;
  TransferProgress progress("writing");
  CopyReport report(flags.report(), progress);
  write.cancel = interrupt.get();
  write.progress = [&progress](int64_t bytes) { progress.AddBytes(bytes); };
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer,
                         place.store->OpenWriter(place.key, write));
  ASSAY_ASSIGN_OR_RETURN(const int64_t bytes, SendStandardInput(*writer, place.uri, interrupt.get()));
  ASSAY_RETURN_IF_ERROR(writer->Commit().status());
  report.OnObject(
      {kStandardStream, place.store->Uri(place.key), bytes, 0, storage::TreeCopyEvent::Outcome::kCopied, {}});
  report.Finish();
  return Status::Ok();
}

storage::ObjectCopyOptions ObjectOptions(const CopyFlags& flags, storage::WriteOptions write) {
  storage::ObjectCopyOptions options;
  options.write = std::move(write);
  options.journal_folder = flags.no_resume ? std::string() : UserCacheDirectory() + "/uploads";
  return options;
}

/// The name under which a single object arrives: a bucket or a folder takes it under its own.
std::string TargetKey(const ObjectPlace& from, const ObjectPlace& to) {
  return to.key.empty() || to.key.ends_with('/') ? to.key + FileName(from) : to.key;
}

Status CopyOne(const CopyFlags& flags, const ObjectPlace& from, const ObjectPlace& to,
               const storage::ObjectCopyOptions& options, CopyReport& report) {
  if (from.key.empty() || from.key.ends_with('/')) {
    return Status::InvalidArgument(
        fmt::format("'{}' is a bucket or a folder: add --recursive to copy all that is in it", from.uri));
  }
  ASSAY_ASSIGN_OR_RETURN(const storage::ObjectInfo info,
                         storage::StatExisting(*from.store, from.key, "copy", options.write.cancel));
  using Outcome = storage::TreeCopyEvent::Outcome;
  const std::string key = TargetKey(from, to);
  storage::TreeCopyEvent event{from.store->Uri(from.key), to.store->Uri(key), info.size, 0, Outcome::kPlanned, {}};
  report.OnPlan(1, info.size, true);
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
  tree.filter = flags.filter;
  tree.comparison = flags.always ? storage::Comparison::kNone : flags.comparison;
  tree.remove_others = flags.remove_others;
  tree.jobs = flags.jobs;
  tree.dry_run = flags.dry_run;
  const Status status =
      storage::CopyTree({from.store.get(), AsFolder(from.key)}, {to.store.get(), AsFolder(to.key)}, tree, report);
  // Each failure has been printed.
  if (report.failed() > 0 && status.code() != ErrorCode::kAborted) {
    return {status.code(), fmt::format("{} of the objects could not be {}: run it again for those", report.failed(),
                                       flags.remove_others ? "copied or removed" : "copied")};
  }
  return status;
}

/// A path that leads nowhere is not an empty folder.
Status CheckIsFolder(const ObjectPlace& place) {
  return !place.is_file() || IsDirectory(place.parsed.bucket + '/' + place.key)
             ? Status::Ok()
             : Status::NotFound(fmt::format("'{}' is no folder (name one)", place.uri));
}

Status CheckIsNoTree(const CopyFlags& flags) {
  return flags.filter.empty() ? Status::Ok()
                              : Status::InvalidArgument("patterns choose from a folder: add --recursive");
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
  ASSAY_RETURN_IF_ERROR(flags.recursive ? CheckIsFolder(places.first) : CheckIsNoTree(flags));
  // A folder that does not exist yet is one all the same.
  if (flags.recursive && places.second.is_file() && !places.second.key.empty()) {
    ASSAY_ASSIGN_OR_RETURN(places.second, flags.store.Open(AsFolder(to)));
  }
  const InterruptFlag interrupt;
  write.cancel = interrupt.get();
  const storage::ObjectCopyOptions options = ObjectOptions(flags, std::move(write));
  TransferProgress progress("copying");
  CopyReport report(flags.report(), progress);
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
  app.add_flag("--always", always, "With --recursive: copy also what is equal");
  AddFilterTo(app);
  AddSharedTo(app);
}

void CopyFlags::AddSyncTo(CLI::App& app) {
  recursive = true;
  app.add_flag("--delete", remove_others, "At the end remove from the target what the source does not have");
  AddFilterTo(app);
  AddSharedTo(app);
}

void CopyFlags::AddFilterTo(CLI::App& app) {
  // Their order among each other counts, so each is taken when it is read.
  const auto add = [&](const char* name, const char* help, auto take) {
    app.add_option_function<std::string>(name, take, help)->trigger_on_parse()->type_name("PATTERN");
  };
  add("--exclude",
      "Leave out keys below the folder that fit, as 'logs/*'; of several patterns the last that fits counts",
      [this](const std::string& pattern) { filter.Exclude(pattern); });
  add("--include", "Take those that fit all the same", [this](const std::string& pattern) { filter.Include(pattern); });
  const std::map<std::string, storage::Comparison> names = {{"content", storage::Comparison::kContent},
                                                            {"time", storage::Comparison::kTime},
                                                            {"size", storage::Comparison::kSize}};
  app.add_option(
         "--compare", comparison,
         "What is equal there already: content: same size and checksum; time: same size, and not older than the "
         "source; size [content]")
      ->transform(CLI::CheckedTransformer(names).description("{content,time,size}"));
}

void CopyFlags::AddSharedTo(CLI::App& app) {
  app.add_flag("--dry-run,--dryrun", dry_run, "Print what would be done, do nothing");
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
