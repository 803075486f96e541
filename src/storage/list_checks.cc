#include "storage/list_checks.h"

#include <fmt/format.h>

#include <functional>

#include "base/terminal.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

constexpr char kLeadsBack[] = "it leads back to a page that was given before";

Status CheckName(std::string_view name, std::string_view prefix) {
  if (!CheckKey(name, "").ok()) {
    return ContradictoryList(fmt::format("it names '{}', which no object can be called", Escaped(name)));
  }
  if (!name.starts_with(prefix)) {
    return ContradictoryList(
        fmt::format("it names '{}', which does not begin with '{}'", Escaped(name), Escaped(prefix)));
  }
  return Status::Ok();
}

Status CheckOrder(std::string_view before, std::string_view name) {
  return before < name ? Status::Ok()
                       : ContradictoryList(
                             fmt::format("it names '{}' behind '{}', out of order", Escaped(name), Escaped(before)));
}

Status CheckObjectKey(const ListOptions& options, std::string_view key) {
  ASSAY_RETURN_IF_ERROR(CheckName(key, options.prefix));
  if (!options.delimiter.empty() && key.find(options.delimiter, options.prefix.size()) != std::string_view::npos) {
    return ContradictoryList(fmt::format("it names '{}', which '{}' rolls up", Escaped(key), options.delimiter));
  }
  return Status::Ok();
}

Status CheckPrefix(const ListOptions& options, std::string_view prefix) {
  ASSAY_RETURN_IF_ERROR(CheckName(prefix, options.prefix));
  const size_t at =
      options.delimiter.empty() ? std::string_view::npos : prefix.find(options.delimiter, options.prefix.size());
  if (at == std::string_view::npos || at + options.delimiter.size() != prefix.size()) {
    return ContradictoryList(
        fmt::format("it rolls up '{}', which does not end at its first '{}'", Escaped(prefix), options.delimiter));
  }
  // Keys below it may lie behind where the listing begins though it does not itself.
  const std::string_view after = options.start_after;
  return after.starts_with(prefix) ? Status::Ok() : CheckOrder(after, prefix);
}

}  // namespace

Status CheckListPage(const ListOptions& options, const ListPage& page) {
  std::string_view before = options.start_after;
  for (const ObjectInfo& info : page.objects) {
    ASSAY_RETURN_IF_ERROR(CheckObjectKey(options, info.key));
    ASSAY_RETURN_IF_ERROR(CheckOrder(before, info.key));
    before = info.key;
  }
  before = {};
  for (const std::string& prefix : page.prefixes) {
    ASSAY_RETURN_IF_ERROR(CheckPrefix(options, prefix));
    ASSAY_RETURN_IF_ERROR(CheckOrder(before, prefix));
    before = prefix;
  }
  const bool again = !page.next_page_token.empty() && page.next_page_token == options.page_token;
  return again ? ContradictoryList(kLeadsBack) : Status::Ok();
}

Status CheckNextKey(const ListOptions& options, const ListPage& page) {
  const std::string& next = page.next_page_token;
  if (next.empty()) {
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(CheckName(next, options.prefix));
  ASSAY_RETURN_IF_ERROR(CheckOrder(page.objects.empty() ? options.start_after : page.objects.back().key, next));
  return page.prefixes.empty() ? Status::Ok() : CheckOrder(page.prefixes.back(), next);
}

Status CheckUploads(std::string_view prefix, std::span<const UnfinishedUpload> uploads) {
  for (const UnfinishedUpload& upload : uploads) {
    ASSAY_RETURN_IF_ERROR(CheckName(upload.key, prefix));
    if (upload.upload_id.empty()) {
      return ContradictoryList(fmt::format("it names an upload of '{}' without its id", Escaped(upload.key)));
    }
  }
  return Status::Ok();
}

Status CheckParts(std::span<const UploadedPart> parts) {
  int before = 0;
  for (const UploadedPart& part : parts) {
    if (part.number <= before || part.number > kMaxParts) {
      return ContradictoryList(fmt::format("it names part {} behind part {}", part.number, before));
    }
    before = part.number;
  }
  return Status::Ok();
}

Status PageTokens::Take(const std::string& token) {
  if (!seen_.insert(std::hash<std::string>()(token)).second) {
    return ContradictoryList(kLeadsBack);
  }
  return seen_.size() <= kMostPages
             ? Status::Ok()
             : ContradictoryList(fmt::format("it leads on and on: {} pages, none of them the last", kMostPages));
}

}  // namespace assay::storage
