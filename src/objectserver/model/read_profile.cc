#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"
#include "objectserver/model/lies.h"
#include "objectserver/model/profile.h"

namespace assay::objectserver {
namespace {

struct FaultName {
  const char* name;
  FaultKind kind;
  int status;
};

constexpr FaultName kFaults[] = {
    {"return", FaultKind::kReturn, 503},
    {"reset", FaultKind::kReset, 0},
    {"lost-answer", FaultKind::kLostAnswer, 0},
    {"stall", FaultKind::kStall, 0},
    {"truncate", FaultKind::kTruncate, 0},
    {"bit-flip", FaultKind::kBitFlip, 0},
    {"200-with-error", FaultKind::kErrorInside, 200},
    {"expired-token", FaultKind::kExpiredToken, 400},
    {"stale-list", FaultKind::kStaleList, 0},
    {"precondition-conflict", FaultKind::kConflict, 409},
    {"delay", FaultKind::kDelay, 0},
};

/// "20ms", "1.5s"
Result<double> Duration(const YamlNode& node) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, node.AsText());
  const Result<double> seconds = ParseSeconds(text);
  return seconds.ok() ? seconds : node.Error(seconds.status().message());
}

Result<double> ByteCount(const YamlNode& node) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, node.AsText());
  const Result<int64_t> bytes = ParseBytes(text);
  return bytes.ok() ? Result<double>(static_cast<double>(*bytes)) : node.Error(bytes.status().message());
}

/// Reads `key` of `map` with `read` where it is present.
template <typename Read, typename Target>
Status ReadOptional(const YamlNode& map, std::string_view key, Read read, Target& target) {
  if (!map.Has(key)) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const YamlNode node, map.Get(key));
  ASSAY_ASSIGN_OR_RETURN(target, read(node));
  return Status::Ok();
}

Status CheckMap(const YamlNode& node, std::string_view what, const std::vector<std::string>& keys) {
  return node.IsMap() ? node.CheckKeys(keys)
                      : node.Error(fmt::format("{} must be a map of {}", what, Join(keys, ", ")));
}

Result<double> PositiveNumber(const YamlNode& node) {
  ASSAY_ASSIGN_OR_RETURN(const double value, node.AsNumber());
  return value >= 0 ? Result<double>(value) : node.Error("a rate cannot be negative");
}

Result<LatencyModel> Latency(const YamlNode& node) {
  ASSAY_RETURN_IF_ERROR(CheckMap(node, "a latency", {"median", "p99", "percentiles"}));
  LatencyModel latency;
  if (!node.Has("percentiles")) {
    ASSAY_ASSIGN_OR_RETURN(const YamlNode median, node.Get("median"));
    ASSAY_ASSIGN_OR_RETURN(const YamlNode p99, node.Get("p99"));
    ASSAY_ASSIGN_OR_RETURN(latency.median_seconds, Duration(median));
    ASSAY_ASSIGN_OR_RETURN(latency.p99_seconds, Duration(p99));
    return latency.p99_seconds >= latency.median_seconds ? Result<LatencyModel>(latency)
                                                         : p99.Error("p99 lies below the median");
  }
  ASSAY_ASSIGN_OR_RETURN(const YamlNode percentiles, node.Get("percentiles"));
  for (const auto& [percent, value] : percentiles.entries()) {
    ASSAY_ASSIGN_OR_RETURN(const double seconds, Duration(value));
    const double at = std::atof(percent.c_str());
    if (at < 0 || at > 100 ||
        (!latency.percentiles.empty() &&
         (at <= latency.percentiles.back().first || seconds < latency.percentiles.back().second))) {
      return value.Error("percentiles must rise, between 0 and 100");
    }
    latency.percentiles.emplace_back(at, seconds);
  }
  return latency.percentiles.empty() ? Result<LatencyModel>(percentiles.Error("no percentiles given")) : latency;
}

Status ReadKind(const YamlNode& map, FaultRule& rule) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode node, map.Get("fault"));
  ASSAY_ASSIGN_OR_RETURN(rule.name, node.AsText());
  if (const Lie* lie = FindLie(rule.name); lie != nullptr) {
    rule.kind = FaultKind::kLie;
    rule.lie = lie;
    return Status::Ok();
  }
  const auto found = std::ranges::find(kFaults, std::string_view(rule.name), &FaultName::name);
  if (found == std::end(kFaults)) {
    std::vector<std::string> names = LieNames();
    for (const FaultName& fault : kFaults) {
      names.emplace_back(fault.name);
    }
    const std::string nearest = NearestName(rule.name, names);
    return node.Error(fmt::format("unknown fault '{}' ({})", rule.name,
                                  nearest.empty() ? "known: " + Join(names, ", ") : "did you mean '" + nearest + "'?"));
  }
  rule.kind = found->kind;
  rule.status = found->status;
  return Status::Ok();
}

Result<FaultRule> Fault(const YamlNode& node) {
  ASSAY_RETURN_IF_ERROR(CheckMap(node, "a fault", {"fault", "rate", "operations", "status", "after", "window"}));
  FaultRule rule;
  ASSAY_RETURN_IF_ERROR(ReadKind(node, rule));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode rate, node.Get("rate"));
  ASSAY_ASSIGN_OR_RETURN(rule.rate, rate.AsNumber());
  if (!(rule.rate >= 0 && rule.rate <= 1)) {
    return rate.Error("a fault's rate is a share of the requests, between 0 and 1");
  }
  int64_t status = rule.status;
  ASSAY_RETURN_IF_ERROR(ReadOptional(node, "status", [](const YamlNode& n) { return n.AsInteger(); }, status));
  if (node.Has("status") && (status < 400 || status > 599)) {
    return node.Get("status")->Error("an error's status lies between 400 and 599");
  }
  rule.status = static_cast<int>(status);
  double after = -1;
  ASSAY_RETURN_IF_ERROR(ReadOptional(node, "after", &ByteCount, after));
  if (after >= 0) {
    rule.after_bytes = static_cast<int64_t>(after);
  }
  ASSAY_RETURN_IF_ERROR(ReadOptional(node, "window", &Duration, rule.window_seconds));
  if (node.Has("operations")) {
    ASSAY_ASSIGN_OR_RETURN(const YamlNode operations, node.Get("operations"));
    for (const YamlNode& operation : operations.items()) {
      ASSAY_ASSIGN_OR_RETURN(std::string name, operation.AsText());
      rule.operations.push_back(std::move(name));
    }
  }
  return rule;
}

Status ReadLatencies(const YamlNode& node, Profile& profile) {
  ASSAY_RETURN_IF_ERROR(CheckMap(node, "latency", {"read", "write", "list"}));
  ASSAY_RETURN_IF_ERROR(ReadOptional(node, "read", &Latency, profile.read_latency));
  ASSAY_RETURN_IF_ERROR(ReadOptional(node, "write", &Latency, profile.write_latency));
  return ReadOptional(node, "list", &Latency, profile.list_latency);
}

Result<Profile> ReadRoot(const YamlNode& root) {
  ASSAY_RETURN_IF_ERROR(CheckMap(root, "a profile", {"latency", "bandwidth", "requests", "faults", "conditions"}));
  Profile profile;
  if (root.Has("latency")) {
    ASSAY_RETURN_IF_ERROR(ReadLatencies(*root.Get("latency"), profile));
  }
  if (root.Has("bandwidth")) {
    const YamlNode node = *root.Get("bandwidth");
    ASSAY_RETURN_IF_ERROR(CheckMap(node, "bandwidth", {"connection", "total"}));
    ASSAY_RETURN_IF_ERROR(ReadOptional(node, "connection", &ByteCount, profile.connection_bytes_per_s));
    ASSAY_RETURN_IF_ERROR(ReadOptional(node, "total", &ByteCount, profile.total_bytes_per_s));
  }
  if (root.Has("requests")) {
    const YamlNode node = *root.Get("requests");
    ASSAY_RETURN_IF_ERROR(CheckMap(node, "requests", {"reads", "writes"}));
    ASSAY_RETURN_IF_ERROR(ReadOptional(node, "reads", &PositiveNumber, profile.reads_per_s));
    ASSAY_RETURN_IF_ERROR(ReadOptional(node, "writes", &PositiveNumber, profile.writes_per_s));
  }
  if (root.Has("conditions")) {
    const YamlNode node = *root.Get("conditions");
    ASSAY_ASSIGN_OR_RETURN(const std::string conditions, node.AsText());
    if (conditions != "kept" && conditions != "ignored") {
      return node.Error("conditions of writes are kept or ignored");
    }
    profile.ignores_conditions = conditions == "ignored";
  }
  if (root.Has("faults")) {
    const YamlNode faults = *root.Get("faults");
    if (!faults.IsSequence()) {
      return faults.Error("faults must be a list");
    }
    for (const YamlNode& node : faults.items()) {
      ASSAY_ASSIGN_OR_RETURN(FaultRule rule, Fault(node));
      profile.faults.push_back(std::move(rule));
    }
  }
  return profile;
}

std::vector<std::string> ReadyNames(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<Profile> ParseProfile(std::string_view text, std::string source) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::Parse(text, std::move(source)));
  return ReadRoot(root);
}

Result<Profile> ReadProfile(const std::string& file_or_name, const std::string& share_directory) {
  const std::string folder = share_directory + "/profiles";
  const std::string ready = folder + '/' + file_or_name + ".yaml";
  const bool is_name = file_or_name.find('/') == std::string::npos && FileExists(ready);
  if (!is_name && !FileExists(file_or_name)) {
    return Status::NotFound(
        fmt::format("no profile '{}': give a YAML file, or one of {}", file_or_name, Join(ReadyNames(folder), ", ")));
  }
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::ReadFile(is_name ? ready : file_or_name));
  return ReadRoot(root);
}

}  // namespace assay::objectserver
