// Records as JSON: what a store on disk keeps of objects, uploads and parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "objectserver/record.h"

namespace assay::objectserver {

/// Gives the data file of a name that a record holds; null when it is missing or has less than `bytes`.
using DataFileLookup = std::function<std::shared_ptr<const DataFile>(const std::string& name, int64_t bytes)>;

nlohmann::json BucketToJson(const BucketRecord& bucket);
nlohmann::json ObjectToJson(const ObjectRecord& object);
/// Without its parts, which have records of their own.
nlohmann::json UploadToJson(const Upload& upload);
nlohmann::json PartToJson(const Part& part);

/// A record that lacks something, or does not hold together, is refused (kFailedPrecondition). `source` is the file's
/// name, for errors.
Result<BucketRecord> BucketFromJson(const nlohmann::json& json, const std::string& source);
Result<ObjectRecord> ObjectFromJson(const nlohmann::json& json, const DataFileLookup& files, const std::string& source);
Result<Upload> UploadFromJson(const nlohmann::json& json, const std::string& source);
Result<Part> PartFromJson(const nlohmann::json& json, const DataFileLookup& files, const std::string& source);

}  // namespace assay::objectserver
