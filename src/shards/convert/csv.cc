#include "shards/convert/csv.h"

#include <fmt/format.h>

namespace assay::shards {
namespace {

/// Behind the quote that closes the one at `open`; npos: none does.
size_t BehindQuoted(std::string_view text, size_t open) {
  for (size_t at = open + 1; (at = text.find('"', at)) != std::string_view::npos; at += 2) {
    if (at + 1 == text.size() || text[at + 1] != '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

std::string_view WithoutNewline(std::string_view record) {
  record.remove_suffix(record.ends_with('\n') ? 1 : 0);
  record.remove_suffix(record.ends_with('\r') ? 1 : 0);
  return record;
}

/// What stands between the quotes, doubled ones made single in `unquoted`, which does not move.
std::string_view Unquote(std::string_view inner, std::string& unquoted) {
  if (inner.find('"') == std::string_view::npos) {
    return inner;
  }
  const size_t begin = unquoted.size();
  for (size_t i = 0; i < inner.size(); ++i) {
    unquoted += inner[i];
    i += inner[i] == '"' ? 1 : 0;
  }
  return std::string_view(unquoted).substr(begin);
}

}  // namespace

std::optional<size_t> CsvRecordEnd(std::string_view text, char separator, bool at_end) {
  const char stops[] = {separator, '\n', '\0'};
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      at = BehindQuoted(text, at);
      if (at == std::string_view::npos || (at == text.size() && !at_end)) {
        break;
      }
    }
    at = text.find_first_of(std::string_view(stops, 2), at);
    if (at == std::string_view::npos) {
      break;
    }
    if (text[at++] == '\n') {
      return at;
    }
  }
  return at_end && !text.empty() ? std::optional(text.size()) : std::nullopt;
}

Status SplitCsvRecord(std::string_view record, char separator, std::vector<std::string_view>& fields,
                      std::string& unquoted) {
  fields.clear();
  unquoted.clear();
  unquoted.reserve(record.size());
  record = WithoutNewline(record);
  size_t at = 0;
  while (true) {
    size_t end = 0;
    if (at < record.size() && record[at] == '"') {
      end = BehindQuoted(record, at);
      if (end == std::string_view::npos) {
        return Status::InvalidArgument(fmt::format("the quote of field {} is not closed", fields.size() + 1));
      }
      if (end < record.size() && record[end] != separator) {
        return Status::InvalidArgument(fmt::format("field {} goes on behind its closing quote", fields.size() + 1));
      }
      fields.push_back(Unquote(record.substr(at + 1, end - at - 2), unquoted));
    } else {
      end = std::min(record.find(separator, at), record.size());
      fields.push_back(record.substr(at, end - at));
    }
    if (end == record.size()) {
      return Status::Ok();
    }
    at = end + 1;
  }
}

bool HasLeadingZero(std::string_view number) {
  const std::string_view digits = number.substr(number.starts_with('-') ? 1 : 0);
  return digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
}

}  // namespace assay::shards
