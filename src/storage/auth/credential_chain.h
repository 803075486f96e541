// A chain of places where credentials may be: asked in order, the first that has some serves.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace assay::storage {

/// Why a source has nothing to offer: "AWS_ACCESS_KEY_ID is not set".
struct NotConfigured {
  std::string reason;
};

/// What a source answered. A source that is configured but broken ends the chain: falling through to others would hide
/// the mistake.
template <typename T>
using SourceAnswer = std::variant<T, NotConfigured, Status>;

template <typename T>
struct CredentialSource {
  std::string name;  ///< "environment"
  std::function<SourceAnswer<T>()> load;
};

/// The first credentials; T has `std::string source`, set here where the source left it empty. An error names every
/// source asked and why it did not serve; `advice` is its last clause.
template <typename T>
Result<T> LoadFromChain(const std::vector<CredentialSource<T>>& chain, std::string_view advice) {
  std::string tried;
  for (const CredentialSource<T>& source : chain) {
    SourceAnswer<T> answer = source.load();
    if (T* credentials = std::get_if<T>(&answer)) {
      if (credentials->source.empty()) {
        credentials->source = source.name;
      }
      return std::move(*credentials);
    }
    if (Status* failure = std::get_if<Status>(&answer)) {
      return failure->WithContext("cannot get credentials from " + source.name);
    }
    tried += (tried.empty() ? "" : "; ") + source.name + ": " + std::get<NotConfigured>(answer).reason;
  }
  return Status::PermissionDenied("no credentials: " + tried + " (" + std::string(advice) + ")");
}

/// For sources written as Result: its error as an answer, its value as credentials.
template <typename T>
SourceAnswer<T> ToAnswer(Result<T> result) {
  if (!result.ok()) {
    return result.status();
  }
  return std::move(result).value();
}

}  // namespace assay::storage
