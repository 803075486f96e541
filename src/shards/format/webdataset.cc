#include "shards/format/webdataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "shards/format/tar.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

/// The last part of a field's name, which says what it holds: "seg.png" is a png.
std::string_view EndingOf(std::string_view field) {
  const size_t dot = field.rfind('.');
  return dot == std::string_view::npos ? field : field.substr(dot + 1);
}

/// What readers take a member for, by the ending of its name.
enum class Content : uint8_t { kText, kJson, kClass, kJpeg, kPng };

struct EndingRow {
  std::string_view ending;
  Content content;
};

/// Of several for a content the first is what is written.
constexpr EndingRow kEndings[] = {{"txt", Content::kText},   {"text", Content::kText},   {"transcript", Content::kText},
                                  {"json", Content::kJson},  {"jsn", Content::kJson},    {"cls", Content::kClass},
                                  {"cls2", Content::kClass}, {"index", Content::kClass}, {"inx", Content::kClass},
                                  {"id", Content::kClass},   {"jpg", Content::kJpeg},    {"jpeg", Content::kJpeg},
                                  {"png", Content::kPng}};

/// Nothing where the ending says nothing that is known here.
std::optional<Content> ContentOf(std::string_view ending) {
  const auto* const row = std::ranges::find(kEndings, ending, &EndingRow::ending);
  return row == std::end(kEndings) ? std::nullopt : std::optional(row->content);
}

Status ReadMember(std::string_view ending, std::string_view content, Field& field) {
  const std::optional<Content> holds = ContentOf(ending);
  if (holds == Content::kClass) {
    const std::string_view digits = Trim(content);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return Status::InvalidArgument("it is no integer");
    }
    field.SetInteger(value);
    return Status::Ok();
  }
  const FieldKind kind = holds == Content::kText   ? FieldKind::kText
                         : holds == Content::kJson ? FieldKind::kJson
                                                   : FieldKind::kBytes;
  field.SetText(kind, content);
  return kind == FieldKind::kBytes || IsUtf8(content) ? Status::Ok() : Status::InvalidArgument("it is no UTF-8");
}

/// What a column's values are to readers; nothing where no ending says so.
std::optional<Content> ContentOf(const Encoding& encoding) {
  switch (encoding.kind) {
    case EncodingKind::kStr:
    case EncodingKind::kStrInt:
    case EncodingKind::kStrFloat:
    case EncodingKind::kStrDecimal:
      return Content::kText;
    case EncodingKind::kScalar:
      return IsFloat(*encoding.dtype) ? Content::kJson : Content::kClass;
    case EncodingKind::kJson:
      return Content::kJson;
    case EncodingKind::kBytes:
      return encoding.name == "jpeg"  ? std::optional(Content::kJpeg)
             : encoding.name == "png" ? std::optional(Content::kPng)
                                      : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The part of a member's name behind its key.
std::string MemberField(const Column& column) {
  const std::optional<Content> content = ContentOf(column.encoding);
  if (!content || ContentOf(Lower(EndingOf(column.name))) == content) {
    return column.name;
  }
  return fmt::format("{}.{}", column.name, std::ranges::find(kEndings, *content, &EndingRow::content)->ending);
}

/// Bytes under a name by which readers take them for text, JSON or a number.
bool IsMistaken(const Column& column) {
  const std::optional<Content> content = ContentOf(Lower(EndingOf(column.name)));
  return column.encoding.name == "bytes" && content && *content != Content::kJpeg && *content != Content::kPng;
}

/// A number as digits.
Status DecodeScalar(const Encoding& encoding, std::string_view text, Field& field) {
  const std::string_view digits = Trim(text);
  const char* end = digits.data() + digits.size();
  const auto whole = [end](const std::from_chars_result& read) { return read.ec == std::errc() && read.ptr == end; };
  int64_t integer = 0;
  uint64_t large = 0;
  double number = 0;
  if (IsFloat(*encoding.dtype) && whole(std::from_chars(digits.data(), end, number))) {
    field.SetNumber(number);
  } else if (!IsFloat(*encoding.dtype) && whole(std::from_chars(digits.data(), end, integer))) {
    field.SetInteger(integer);
  } else if (!IsFloat(*encoding.dtype) && whole(std::from_chars(digits.data(), end, large))) {
    field.SetUnsigned(large);
  } else {
    return Status::InvalidArgument(fmt::format("it is no {}", encoding.name));
  }
  return Status::Ok();
}

Status DecodeMember(const Encoding& encoding, Bytes content, Field& field) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  return encoding.kind == EncodingKind::kScalar ? DecodeScalar(encoding, text, field)
                                                : DecodeField(encoding, content, field);
}

struct WebMember {
  std::string key;
  std::string field;
  TarMember file;
};

/// The next member that is a sample's, with its name in two; nothing at the end.
Result<std::optional<WebMember>> NextMember(TarReader& reader) {
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(std::optional<TarMember> member, reader.Next());
    if (!member) {
      return std::optional<WebMember>();
    }
    std::string_view key;
    std::string field;
    if (SplitMemberName(member->name, key, field)) {
      return std::optional(WebMember{std::string(key), std::move(field), *std::move(member)});
    }
  }
}

}  // namespace

bool SplitMemberName(std::string_view name, std::string_view& key, std::string& field) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) {
    return false;
  }
  const std::string_view first = name.substr(0, name.find('/'));
  if (first.size() >= 4 && first.starts_with("__") && first.ends_with("__")) {
    return false;  // what is said of the whole file, which the package leaves out too
  }
  key = name.substr(0, dot);
  field = Lower(name.substr(dot + 1));
  return true;
}

Result<Offsets> FindWebSamples(Bytes tar, uint64_t offset) {
  TarReader reader(tar, offset);
  Offsets offsets;
  std::string last_key;
  uint64_t end = 0;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<WebMember> member, NextMember(reader));
    if (!member) {
      break;
    }
    if (offsets.empty() || member->key != last_key) {
      offsets.push_back(member->file.begin);
      last_key = member->key;
    }
    end = member->file.end;
  }
  offsets.push_back(offsets.empty() ? 0 : end);
  return offsets;
}

Result<uint64_t> EndOfWholeSamples(Bytes tar, uint64_t offset) {
  TarReader reader(tar, offset);
  std::string last_key;
  uint64_t end = 0;
  bool is_first = true;
  while (true) {
    const auto member = NextMember(reader);
    if (!member.ok() && !reader.is_cut_off()) {
      return member.status();
    }
    if (!member.ok() || !*member) {
      return end;
    }
    if (is_first || (*member)->key != last_key) {
      end = is_first ? 0 : (*member)->file.begin;
      last_key = (*member)->key;
      is_first = false;
    }
  }
}

Status DecodeWebSample(Bytes sample, WebSample& out) {
  out.names.clear();
  out.row.clear();
  TarReader reader(sample);
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(std::optional<WebMember> member, NextMember(reader));
    if (!member) {
      return out.row.empty() ? Status::InvalidArgument("the sample has no member") : Status::Ok();
    }
    const std::string& name = member->file.name;
    if (std::ranges::find(out.names, member->field) != out.names.end()) {
      return Status::InvalidArgument(fmt::format("'{}' comes twice", name));
    }
    out.key = member->key;
    const Bytes bytes = member->file.content;
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const Status read = ReadMember(EndingOf(member->field), content, out.row.emplace_back()); !read.ok()) {
      return read.WithContext(fmt::format("'{}'", name));
    }
    out.names.push_back(std::move(member->field));
  }
}

Status CheckWebColumns(std::span<const Column> columns) {
  std::set<std::string> fields;
  for (const Column& column : columns) {
    const std::string field = MemberField(column);
    const bool is_name = column.name.find('/') == std::string::npos && !column.name.starts_with('.') && !field.empty();
    const EncodingKind kind = column.encoding.kind;
    if (kind == EncodingKind::kNdarray || kind == EncodingKind::kPil || kind == EncodingKind::kJpegArray ||
        kind == EncodingKind::kList) {
      return Status::InvalidArgument(
          fmt::format("column '{}': tar files hold no {}: take mds", column.name, column.encoding.name));
    }
    if (IsMistaken(column)) {
      return Status::InvalidArgument(
          fmt::format("column '{}': readers of tar files know bytes by another name: take another, or str, json or int",
                      column.name));
    }
    if (!is_name || !fields.insert(Lower(field)).second) {
      return Status::InvalidArgument(fmt::format("column '{}': a tar file has no place for one of that name{}",
                                                 column.name, is_name ? " beside another" : ""));
    }
  }
  return Status::Ok();
}

Status EncodeWebSample(std::span<const Column> columns, std::string_view key, const Row& row, std::string& tar) {
  static const Encoding kAsJson = *Encoding::Parse("json");
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    std::string value;
    Status written = EncodeField(column.encoding, row[i], value);  // which refuses what the column does not hold
    if (written.ok() && column.encoding.kind == EncodingKind::kScalar) {
      Field stored;  // as the column holds it: true is 1, and a float32 is rounded
      written = DecodeField(column.encoding, std::as_bytes(std::span(value)), stored);
      value.clear();
      written = written.ok() ? EncodeField(kAsJson, stored, value) : written;
    }
    if (written.ok()) {
      written = AppendTarMember(tar, fmt::format("{}.{}", key, MemberField(column)), std::as_bytes(std::span(value)));
    }
    ASSAY_RETURN_IF_ERROR(written.WithContext(fmt::format("column '{}'", column.name)));
  }
  return Status::Ok();
}

Status DecodeWebColumns(std::span<const Column> columns, Bytes sample, Row& row) {
  row.resize(columns.size());
  std::vector<std::string> fields;
  std::ranges::transform(columns, std::back_inserter(fields),
                         [](const Column& column) { return Lower(MemberField(column)); });
  std::vector<bool> seen(columns.size());
  TarReader reader(sample);
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<WebMember> member, NextMember(reader));
    if (!member) {
      break;
    }
    const auto field = std::ranges::find(fields, member->field);
    if (field == fields.end()) {
      continue;
    }
    const auto i = static_cast<size_t>(field - fields.begin());
    seen[i] = true;
    ASSAY_RETURN_IF_ERROR(DecodeMember(columns[i].encoding, member->file.content, row[i])
                              .WithContext(fmt::format("column '{}'", columns[i].name)));
  }
  const auto missing = std::ranges::find(seen, false);
  return missing == seen.end() ? Status::Ok()
                               : Status::InvalidArgument(fmt::format(
                                     "it has no '{}'", columns[static_cast<size_t>(missing - seen.begin())].name));
}

}  // namespace assay::shards
