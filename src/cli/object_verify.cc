// assay object verify: reads objects again and checks them against what the store records of them.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/parallel.h"
#include "cli/object_options.h"
#include "cli/object_progress.h"
#include "cli/object_text.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/copy/read_through.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct VerifyOptions {
  StoreFlags store;
  std::string uri;
  bool recursive = false;
  std::string output;
};

/// Of one object.
struct Verdict {
  std::string uri;
  int64_t bytes = 0;
  std::string checksum;
  Status status;
  const char* word() const { return !status.ok() ? "FAILED" : checksum.empty() ? "read, no checksum" : "ok"; }
};

Result<std::vector<std::string>> KeysOf(const VerifyOptions& options, const ObjectPlace& place,
                                        storage::CancelFlag cancel) {
  if (!options.recursive) {
    ASSAY_RETURN_IF_ERROR(CheckIsObject(place));
    return std::vector<std::string>{place.key};
  }
  std::vector<std::string> keys;
  storage::ListOptions list;
  list.prefix = AsFolder(place.key);
  list.cancel = cancel;
  ASSAY_RETURN_IF_ERROR(
      storage::ListInParallel(*place.store, list, storage::kListWorkers, [&keys](storage::ListPage page) {
        for (storage::ObjectInfo& info : page.objects) {
          keys.push_back(std::move(info.key));
        }
        return Status::Ok();
      }));
  return keys;
}

/// Objects at a time, and what is read of each at a time where there are many.
constexpr int kJobs = 16;
constexpr int64_t kWindowBytes = int64_t{8} << 20;

Status Check(const ObjectPlace& place, const std::string& key, const storage::ReadOptions& read, int64_t window_bytes,
             Verdict& verdict) {
  ASSAY_ASSIGN_OR_RETURN(const storage::ObjectInfo info,
                         storage::StatExisting(*place.store, key, "verify", read.cancel));
  verdict.bytes = info.size;
  verdict.checksum = ChecksumText(info);
  const auto kind = info.checksum ? info.checksum->kind : storage::ChecksumKind::kCrc32c;
  ASSAY_ASSIGN_OR_RETURN(const storage::Checksum found,
                         storage::ReadChecksum(*place.store, info, kind, read, window_bytes));
  return info.checksum && found != *info.checksum
             ? storage::ChecksumMismatchStatus("verify", verdict.uri, *info.checksum, found)
             : Status::Ok();
}

void Print(const VerifyOptions& options, const std::vector<Verdict>& verdicts) {
  nlohmann::json json = nlohmann::json::array();
  for (const Verdict& verdict : verdicts) {
    if (options.output == "json") {
      json.push_back({{"uri", verdict.uri},
                      {"bytes", verdict.bytes},
                      {"checksum", verdict.checksum},
                      {"outcome", verdict.word()},
                      {"error", verdict.status.message()}});
    } else {
      fmt::print("{:<18} {:>12} {}  {}\n", verdict.word(), verdict.bytes, Escaped(verdict.uri),
                 verdict.status.ok() ? verdict.checksum : OneLine(verdict.status.message()));
    }
  }
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(json));
  }
}

Status Run(const VerifyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> keys, KeysOf(options, place, interrupt.get()));
  std::vector<Verdict> verdicts(keys.size());
  {
    TransferProgress progress("verifying");
    storage::ReadOptions read;
    read.cancel = interrupt.get();
    read.progress = [&progress](int64_t bytes) { progress.AddBytes(bytes); };
    const int64_t window_bytes = keys.size() > 1 ? kWindowBytes : 0;
    ParallelFor(static_cast<int64_t>(keys.size()), kJobs, [&](int64_t i) {
      Verdict& verdict = verdicts[static_cast<size_t>(i)];
      const std::string& key = keys[static_cast<size_t>(i)];
      verdict.uri = place.store->Uri(key);
      verdict.status = interrupt.get()->load() ? Status::Aborted("interrupted while verifying " + verdict.uri)
                                               : Check(place, key, read, window_bytes, verdict);
    });
  }
  int64_t failures = 0;
  for (const Verdict& verdict : verdicts) {
    if (verdict.status.code() == ErrorCode::kAborted) {
      return verdict.status;
    }
    failures += verdict.status.ok() ? 0 : 1;
  }
  if (keys.size() == 1 && failures == 1) {
    return verdicts.front().status;
  }
  Print(options, verdicts);
  return failures == 0 ? Status::Ok()
                       : Status::Io(fmt::format("{} of {} objects could not be verified", failures, keys.size()));
}

}  // namespace

Action AddObjectVerify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  app.add_option("uri", options->uri, "The object, or the prefix of many")->required();
  app.add_flag("-r,--recursive", options->recursive, "All objects in the folder");
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
