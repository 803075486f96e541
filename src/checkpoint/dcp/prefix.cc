#include "checkpoint/dcp/prefix.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::checkpoint {
namespace {

/// Digits that tell `count` numbers apart.
int DigitsFor(int64_t count, int64_t base) {
  int digits = 1;
  for (int64_t size = base; size < count; size *= base) {
    ++digits;
  }
  return digits;
}

std::string Reversed(std::string text) {
  std::ranges::reverse(text);
  return text;
}

std::string Numeric(const PrefixOptions& options, int rank, int ranks) {
  const bool is_binary = options.strategy == PrefixStrategy::kBinary;
  const int count = options.count > 0 ? options.count : ranks;
  const int digits = std::max(options.least_digits, DigitsFor(count, is_binary ? 2 : 16));
  const int number = rank % count;
  return Reversed(is_binary ? fmt::format("{:0{}b}", number, digits) : fmt::format("{:0{}x}", number, digits));
}

/// Whether files below it have names that every store takes as they are, and that readers take for names in the folder.
bool CanBePartOfNames(const std::string& prefix) {
  const std::string parts = "/" + prefix + "/";
  return parts.find("//") == std::string::npos && parts.find("/./") == std::string::npos &&
         prefix.find("..") == std::string::npos && prefix.find('%') == std::string::npos;
}

}  // namespace

std::string FilePrefix(const PrefixOptions& options, int rank, int ranks) {
  const std::string own = fmt::format("__{}_", rank);
  if (options.strategy == PrefixStrategy::kDefault) {
    return own;
  }
  const std::string prefix = options.strategy == PrefixStrategy::kRoundRobin
                                 ? options.prefixes[static_cast<size_t>(rank) % options.prefixes.size()]
                                 : Numeric(options, rank, ranks);
  return fmt::format("{}/{}{}", prefix, options.epoch ? fmt::format("epoch_{}/", *options.epoch) : "", own);
}

Result<PrefixOptions> ParsePrefixStrategy(std::string_view text, int64_t epoch) {
  PrefixOptions options;
  options.epoch = epoch < 0 ? std::nullopt : std::optional(epoch);
  if (text == "default") {
    return options.epoch ? Result<PrefixOptions>(Status::InvalidArgument(
                               "names have an epoch behind a prefix alone (say binary, hex, or names with commas)"))
                         : options;
  }
  if (text == "binary" || text == "hex") {
    options.strategy = text == "binary" ? PrefixStrategy::kBinary : PrefixStrategy::kHex;
    return options;
  }
  options.strategy = PrefixStrategy::kRoundRobin;
  options.prefixes = Split(text, ',');
  if (options.prefixes.empty()) {
    options.prefixes.emplace_back();
  }
  for (const std::string& prefix : options.prefixes) {
    if (!CanBePartOfNames(prefix)) {
      return Status::InvalidArgument(fmt::format(
          "the prefix '{}' can be no part of a name (say default, binary, hex, or names with commas)", prefix));
    }
  }
  return options;
}

}  // namespace assay::checkpoint
