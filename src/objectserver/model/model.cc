#include "objectserver/model/model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "objectserver/model/draws.h"
#include "objectserver/model/lies.h"

namespace assay::objectserver {
namespace {

// Beyond so many different requests the count of repetitions begins anew.
constexpr size_t kMaxOccurrences = 1 << 20;
constexpr size_t kMaxPrefixes = 1 << 16;

/// FNV-1a: the same on every machine, unlike std::hash.
uint64_t HashText(uint64_t hash, std::string_view text) {
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return Mix(hash);
}

bool IsList(std::string_view operation) {
  return operation.starts_with("List");
}

bool MakesSense(const FaultRule& rule, const RequestTraits& traits) {
  switch (rule.kind) {
    case FaultKind::kStaleList:
      return traits.operation.starts_with("ListObjects");
    case FaultKind::kErrorInside:
      return traits.operation == "CompleteMultipartUpload" || traits.operation == "CopyObject" ||
             traits.operation == "UploadPartCopy";
    case FaultKind::kLie:
      return MakesSense(*rule.lie, traits.operation, traits.write);
    case FaultKind::kConflict:
      return traits.write && traits.conditional;
    case FaultKind::kLostAnswer:
      return traits.write;
    case FaultKind::kBitFlip:
      return traits.operation == "GetObject" || traits.operation == "PutObject" || traits.operation == "UploadPart";
    default:
      return true;
  }
}

bool Applies(const FaultRule& rule, const RequestTraits& traits) {
  return MakesSense(rule, traits) &&
         (rule.operations.empty() || std::ranges::find(rule.operations, traits.operation) != rule.operations.end());
}

}  // namespace

double LatencyModel::Sample(double first, double second) const {
  if (!percentiles.empty()) {
    const double percent = first * 100;
    auto above = std::ranges::find_if(percentiles, [&](const auto& point) { return point.first >= percent; });
    if (above == percentiles.end()) {
      return percentiles.back().second;
    }
    if (above == percentiles.begin()) {
      return above->second;
    }
    const auto below = std::prev(above);
    const double share = (percent - below->first) / (above->first - below->first);
    return below->second + share * (above->second - below->second);
  }
  if (median_seconds <= 0) {
    return 0;
  }
  constexpr double kZ99 = 2.3263478740408408;
  const double sigma = std::log(p99_seconds / median_seconds) / kZ99;
  const double normal = std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * std::numbers::pi * second);
  return median_seconds * std::exp(sigma * normal);
}

uint64_t Model::CountOccurrence(uint64_t identity) {
  const std::lock_guard lock(mutex_);
  if (occurrences_.size() > kMaxOccurrences) {
    occurrences_.clear();
  }
  return occurrences_[identity]++;
}

bool Model::Throttle(const RequestTraits& traits, double now) {
  const double rate = traits.write ? profile_.writes_per_s : profile_.reads_per_s;
  if (rate <= 0 || traits.bucket.empty()) {
    return false;
  }
  std::string prefix(traits.write ? "w/" : "r/");
  prefix.append(traits.bucket).append("/").append(traits.key.substr(0, traits.key.find('/')));
  if (traits.key.find('/') == std::string_view::npos) {
    prefix.resize(prefix.size() - traits.key.size());  // keys without a folder share one prefix
  }
  const std::lock_guard lock(mutex_);
  if (allowances_.size() > kMaxPrefixes) {
    allowances_.clear();
  }
  const auto [found, created] = allowances_.try_emplace(prefix, Allowance{rate, now});
  Allowance& allowance = found->second;
  allowance.tokens = std::min(rate, allowance.tokens + (now - allowance.at) * rate);  // a second's worth at once
  allowance.at = now;
  if (allowance.tokens < 1) {
    return true;
  }
  allowance.tokens -= 1;
  return false;
}

RequestFate Model::Decide(const RequestTraits& traits, double now) {
  RequestFate fate;
  fate.throttled = Throttle(traits, now);
  uint64_t identity = HashText(Mix(seed_), traits.operation);
  for (const std::string_view text : {traits.bucket, traits.key, traits.detail}) {
    identity = HashText(identity, text);
  }
  Draws draws(identity ^ Mix(CountOccurrence(identity) + 1));
  const LatencyModel& latency = traits.write               ? profile_.write_latency
                                : IsList(traits.operation) ? profile_.list_latency
                                                           : profile_.read_latency;
  const double first = draws.Next();
  fate.delay_seconds = latency.Sample(first, draws.Next());
  fate.position = draws.Next();
  double choice = draws.Next();
  for (const FaultRule& rule : profile_.faults) {
    if (!Applies(rule, traits)) {
      continue;
    }
    if (choice < rule.rate) {
      fate.fault = &rule;
      break;
    }
    choice -= rule.rate;
  }
  return fate;
}

}  // namespace assay::objectserver
