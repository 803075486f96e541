// assay object uploads: uploads that were begun and neither completed nor aborted.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/json_list.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/auth/time_format.h"

namespace assay::cli {
namespace {

struct UploadsOptions {
  StoreFlags store;
  std::string uri;
  bool abort = false;
  std::string upload_id;
  double older_than_hours = 0;
  bool dry_run = false;
  std::string output;
};

Result<std::vector<storage::UnfinishedUpload>> Find(const UploadsOptions& options, const ObjectPlace& place,
                                                    storage::CancelFlag cancel) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<storage::UnfinishedUpload> uploads, place.store->ListUploads(place.key, cancel));
  const double newest = storage::WallClockSeconds() - options.older_than_hours * 3600;
  std::erase_if(uploads, [&](const storage::UnfinishedUpload& upload) {
    return (options.older_than_hours > 0 && upload.started > newest) ||
           (!options.upload_id.empty() && upload.upload_id != options.upload_id);
  });
  return uploads;
}

void Print(const UploadsOptions& options, const ObjectPlace& place,
           const std::vector<storage::UnfinishedUpload>& uploads) {
  if (options.output == "json") {
    nlohmann::json json = nlohmann::json::array();
    for (const auto& upload : uploads) {
      json.push_back({{"uri", place.store->Uri(upload.key)},
                      {"key", upload.key},
                      {"upload_id", upload.upload_id},
                      {"started", storage::IsoTime(upload.started)}});
    }
    fmt::print("{}", DumpJsonPretty(json));
    return;
  }
  TextTable table({"started", "upload id", "object"});
  for (const auto& upload : uploads) {
    table.AddRow({storage::IsoTime(upload.started), upload.upload_id, Escaped(place.store->Uri(upload.key))});
  }
  fmt::print("{}", uploads.empty() ? "no unfinished uploads\n" : table.Render());
}

/// Says what became of each upload: as lines, of which those of failures go to standard error, or as JSON.
class AbortReport {
 public:
  AbortReport(const UploadsOptions& options, const ObjectPlace& place) : options_(options), place_(place) {}

  void Add(const storage::UnfinishedUpload& upload, const Status& status, bool of_several) {
    const std::string uri = place_.store->Uri(upload.key);
    const char* word = options_.dry_run ? "(dryrun) abort" : "abort";
    if (options_.output == "json") {
      json_.Add({{"uri", uri},
                 {"key", upload.key},
                 {"upload_id", upload.upload_id},
                 {"outcome", status.ok() ? word : "failed"},
                 {"error", status.message()}});
    } else if (status.ok()) {
      fmt::print("{}: {} {}\n", word, Escaped(uri), Escaped(upload.upload_id));
    }
    if (!status.ok() && of_several) {
      fmt::print(stderr, "assay object: {}\n", OneLine(status.message()));
    }
  }
  void Finish() {
    if (options_.output == "json") {
      json_.Finish();
      fmt::print("\n");
    }
  }

 private:
  const UploadsOptions& options_;
  const ObjectPlace& place_;
  JsonList json_;
};

Status AbortAll(const UploadsOptions& options, const ObjectPlace& place,
                const std::vector<storage::UnfinishedUpload>& uploads, storage::CancelFlag cancel,
                AbortReport& report) {
  if (!options.upload_id.empty() && uploads.empty()) {
    return Status::NotFound(fmt::format("{} has no unfinished upload {}", place.uri, options.upload_id));
  }
  constexpr int kOutOfReach = 3;
  Status first;
  int failed_in_a_row = 0;
  for (const auto& upload : uploads) {
    const Status aborted =
        options.dry_run ? Status::Ok() : place.store->AbortUpload(upload.key, upload.upload_id, cancel);
    if (aborted.code() == ErrorCode::kAborted) {
      return aborted;
    }
    if (aborted.code() == ErrorCode::kNotFound && uploads.size() > 1) {
      continue;  // its own writer has ended it since it was listed
    }
    report.Add(upload, aborted, uploads.size() > 1);
    first = first.ok() ? aborted : first;
    // What fails with one upload says nothing of the next; a store that is out of reach is so for all.
    failed_in_a_row = aborted.code() == ErrorCode::kIo ? failed_in_a_row + 1 : 0;
    const int64_t left = uploads.data() + uploads.size() - (&upload + 1);
    if (failed_in_a_row == kOutOfReach && left > 0) {
      return first.WithContext(fmt::format("not every upload was aborted, the last {} not tried", left));
    }
  }
  return first.ok() || uploads.size() == 1 ? first : first.WithContext("not every upload was aborted");
}

Status Run(const UploadsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const auto uploads, Find(options, place, interrupt.get()));
  if (options.abort) {
    AbortReport report(options, place);
    const Status status = AbortAll(options, place, uploads, interrupt.get(), report);
    if (status.code() != ErrorCode::kAborted) {
      report.Finish();
    }
    return status;
  }
  Print(options, place, uploads);
  return Status::Ok();
}

}  // namespace

Action AddObjectUploads(CLI::App& app) {
  auto options = std::make_shared<UploadsOptions>();
  app.add_option("uri", options->uri, "Bucket or prefix")->required();
  app.add_flag("--abort", options->abort, "Abort them: what the store holds of them is freed");
  app.add_option("--upload-id", options->upload_id, "Only this one")->type_name("ID");
  app.add_option("--older-than", options->older_than_hours, "Only those begun so many hours ago or earlier")
      ->check(NotNegative())
      ->type_name("HOURS");
  app.add_flag("--dry-run,--dryrun", options->dry_run, "With --abort: print what would be aborted");
  AddOutputOption(app, options->output, {"table", "json"});
  options->store.AddTo(app);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
