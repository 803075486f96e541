#include "space/repeats.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace assay::space {
namespace {

Result<int64_t> ReadCount(const YamlNode& node) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t count, node.AsInteger());
  return count >= 1 && count <= kMostRepeats
             ? Result<int64_t>(count)
             : node.Error(fmt::format("{} repeats: expected 1 to {}", count, kMostRepeats));
}

}  // namespace

Result<double> ParseInterval(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  const std::string_view digits = Trim(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  double value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  value /= is_percent ? 100 : 1;
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() || !(value > 0 && value < 1)) {
    return Status::InvalidArgument(fmt::format(
        "'{}' is no interval: expected half of its width by the mean, between 0 and 1, as 5% or 0.05", text));
  }
  return value;
}

Result<Repeats> ReadRepeats(const YamlNode& node) {
  Repeats repeats;
  repeats.where = node.where();
  if (!node.IsMap()) {
    ASSAY_ASSIGN_OR_RETURN(repeats.at_most, ReadCount(node));
    return repeats;
  }
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"until"}));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode until, node.Get("until"));
  ASSAY_RETURN_IF_ERROR(until.CheckKeys({"interval", "target", "at_most"}));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode interval, until.Get("interval"));
  ASSAY_ASSIGN_OR_RETURN(const std::string text, interval.AsText());
  const Result<double> parsed = ParseInterval(text);
  if (!parsed.ok()) {
    return interval.Error(parsed.status().message());
  }
  repeats.interval = *parsed;
  if (until.Has("target")) {
    ASSAY_ASSIGN_OR_RETURN(const YamlNode target, until.Get("target"));
    ASSAY_ASSIGN_OR_RETURN(repeats.target, target.AsText());
  }
  if (until.Has("at_most")) {
    ASSAY_ASSIGN_OR_RETURN(const YamlNode at_most, until.Get("at_most"));
    ASSAY_ASSIGN_OR_RETURN(repeats.at_most, ReadCount(at_most));
  }
  return repeats;
}

}  // namespace assay::space
