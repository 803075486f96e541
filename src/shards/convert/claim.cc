#include "shards/convert/claim.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "shards/format/manifest.h"

namespace assay::shards {
namespace {

using nlohmann::json;

Status IsUnfinished(const DatasetPlace& place) {
  return Status::FailedPrecondition(fmt::format(
      "a conversion to {} is under way or was cut off: go on with it by --resume, or remove what stands there",
      place.Uri()));
}

}  // namespace

std::string FormatPlan(std::span<const SourceFile> sources, const ShardSchema& schema,
                       const std::string& tokenizer_hash, int64_t version) {
  json files = json::array();
  for (const SourceFile& source : sources) {
    files.push_back({{"uri", source.uri()},
                     {"bytes", source.info.size},
                     {"etag", source.info.etag},
                     {"format", NameOf(source.format)}});
  }
  return DumpJson({{"sources", files},
                   {"schema", FormatSchema(schema)},
                   {"tokenizer_hash", tokenizer_hash},
                   {"version", version}}) +
         "\n";
}

Status ClaimPlace(const DatasetPlace& place, const std::string& plan) {
  const std::string key = place.Key(kUnfinishedPlanName);
  ASSAY_ASSIGN_OR_RETURN(const auto stands, place.store->Stat(key));
  if (stands) {
    return IsUnfinished(place);
  }
  const storage::Bytes bytes = AsBytes(plan);
  storage::WriteOptions options;
  options.cancel = place.cancel;
  if (place.store->capabilities().conditional_create) {
    options.condition.kind = storage::WriteCondition::Kind::kAbsent;
  }
  const Status written = place.store->Write(key, {&bytes, 1}, options).status();
  return written.code() == ErrorCode::kFailedPrecondition ? IsUnfinished(place) : written;
}

Status ReclaimPlace(const DatasetPlace& place, const std::string& plan) {
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> stands, FindBlob(place, kUnfinishedPlanName));
  if (!stands) {
    return Status::FailedPrecondition(
        fmt::format("there is nothing to resume at {}: run it without --resume", place.Uri()));
  }
  if (stands->text() == plan) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const json theirs, ParseJson(stands->text(), place.Uri(kUnfinishedPlanName)));
  ASSAY_ASSIGN_OR_RETURN(const json ours, ParseJson(plan, "plan"));
  for (const auto& [name, value] : ours.items()) {
    // A plan of before there were tokens says nothing of them.
    const bool says_nothing = !theirs.contains(name) && value == "";
    if (!says_nothing && (!theirs.contains(name) || theirs[name] != value)) {
      return Status::FailedPrecondition(
          fmt::format("the conversion to {} that was cut off had other {} ({} now): give it the same, or remove what "
                      "stands there",
                      place.Uri(), name, DumpJson(value).substr(0, 200)));
    }
  }
  return Status::Ok();
}

Result<bool> IsPublished(const DatasetPlace& place) {
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> plan, FindBlob(place, kUnfinishedPlanName));
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> text, FindBlob(place, kManifestName));
  if (!plan || !text) {
    return false;
  }
  ASSAY_ASSIGN_OR_RETURN(const json planned, ParseJson(plan->text(), place.Uri(kUnfinishedPlanName)));
  ASSAY_ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(text->text(), place.Uri(kManifestName)));
  int64_t version = 0;
  ASSAY_RETURN_IF_ERROR(ReadField(planned, "version", version));
  return version == manifest.version;
}

}  // namespace assay::shards
