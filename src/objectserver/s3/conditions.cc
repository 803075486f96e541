#include "objectserver/s3/conditions.h"

#include <cmath>
#include <string>

#include "base/text.h"

namespace assay::objectserver::s3 {
namespace {

std::string_view Unquoted(std::string_view etag) {
  etag = Trim(etag);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return etag;
}

}  // namespace

bool MatchesEtag(std::string_view list, std::string_view etag) {
  for (const std::string& entry : Split(list, ',')) {
    const std::string_view tag = Unquoted(entry);
    if (tag == "*" || tag == etag) {
      return true;
    }
  }
  return false;
}

std::optional<Error> JudgeRead(const Request& request, const ObjectRecord& object, std::string_view prefix) {
  const auto header = [&](std::string_view name) { return request.Header(std::string(prefix).append(name)); };
  const auto failed = [](std::string name) {
    return Error{"PreconditionFailed", {}, 0, {{"Condition", std::move(name)}}};
  };
  const auto modified = static_cast<int64_t>(std::floor(object.modified));
  const auto not_modified = [&](std::string name) {
    return prefix.empty() ? Error{"NotModified", "Not Modified", 304} : failed(std::move(name));
  };
  const std::string google = prefix.empty() ? "x-goog-if-generation-match" : "x-goog-copy-source-if-generation-match";
  if (const auto generation = request.Header(google)) {
    const auto wanted = ParseNumber(*generation);
    if (!wanted || static_cast<uint64_t>(*wanted) != object.generation) {
      return failed(google);
    }
  }
  if (const auto match = header("If-Match")) {
    if (!MatchesEtag(*match, object.etag)) {
      return failed("If-Match");
    }
  } else if (const auto since = header("If-Unmodified-Since")) {
    const auto time = ParseHttpDate(*since);
    if (time && modified > *time) {
      return failed("If-Unmodified-Since");
    }
  }
  if (const auto none_match = header("If-None-Match")) {
    if (MatchesEtag(*none_match, object.etag)) {
      return not_modified("If-None-Match");
    }
  } else if (const auto since = header("If-Modified-Since")) {
    const auto time = ParseHttpDate(*since);
    if (time && modified <= *time) {
      return not_modified("If-Modified-Since");
    }
  }
  return std::nullopt;
}

std::optional<Error> ReadWriteCondition(const Request& request, Condition& condition) {
  if (const auto generation = request.Header("x-goog-if-generation-match")) {
    const auto wanted = ParseNumber(*generation);
    if (!wanted) {
      return Error{"InvalidArgument"};
    }
    condition = [wanted = static_cast<uint64_t>(*wanted)](const ObjectRecord* current) {
      const uint64_t there = current != nullptr ? current->generation : 0;
      return there == wanted ? StoreCode::kOk : StoreCode::kConditionFailed;
    };
    return std::nullopt;
  }
  const auto none_match = request.Header("If-None-Match");
  const auto match = request.Header("If-Match");
  if ((none_match && Trim(*none_match) != "*") || (none_match && match)) {
    return Error{"NotImplemented"};
  }
  if (none_match) {
    condition = [](const ObjectRecord* current) {
      return current == nullptr ? StoreCode::kOk : StoreCode::kConditionFailed;
    };
  } else if (match) {
    condition = [etags = std::string(*match)](const ObjectRecord* current) {
      if (current == nullptr) {
        return StoreCode::kNoSuchKey;
      }
      return MatchesEtag(etags, current->etag) ? StoreCode::kOk : StoreCode::kConditionFailed;
    };
  }
  return std::nullopt;
}

}  // namespace assay::objectserver::s3
