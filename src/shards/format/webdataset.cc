#include "shards/format/webdataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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

bool IsClass(std::string_view ending) {
  return ending == "cls" || ending == "cls2" || ending == "class" || ending == "count" || ending == "index" ||
         ending == "inx" || ending == "id";
}

bool IsText(std::string_view ending) {
  return ending == "txt" || ending == "text" || ending == "transcript";
}

Status ReadMember(std::string_view ending, std::string_view content, Field& field) {
  if (IsClass(ending)) {
    const std::string_view digits = Trim(content);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return Status::InvalidArgument("it is no integer");
    }
    field.SetInteger(value);
    return Status::Ok();
  }
  const bool is_json = ending == "json" || ending == "jsn";
  const auto kind = IsText(ending) ? FieldKind::kText : is_json ? FieldKind::kJson : FieldKind::kBytes;
  field.SetText(kind, content);
  return kind == FieldKind::kBytes || IsUtf8(content) ? Status::Ok() : Status::InvalidArgument("it is no UTF-8");
}

}  // namespace

bool SplitMemberName(std::string_view name, std::string_view& key, std::string& field) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) {
    return false;
  }
  if (name.starts_with("__") && name.ends_with("__")) {
    return false;
  }
  key = name.substr(0, dot);
  field = Lower(name.substr(dot + 1));
  return true;
}

Result<Offsets> FindWebSamples(Bytes tar) {
  TarReader reader(tar);
  Offsets offsets;
  std::string last_key;
  uint64_t end = 0;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<TarMember> member, reader.Next());
    if (!member) {
      break;
    }
    std::string_view key;
    std::string field;
    if (!SplitMemberName(member->name, key, field)) {
      continue;
    }
    if (offsets.empty() || key != last_key) {
      offsets.push_back(member->begin);
      last_key = key;
    }
    end = member->end;
  }
  offsets.push_back(offsets.empty() ? 0 : end);
  return offsets;
}

Status DecodeWebSample(Bytes sample, WebSample& out) {
  out.names.clear();
  out.row.clear();
  TarReader reader(sample);
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<TarMember> member, reader.Next());
    if (!member) {
      return out.row.empty() ? Status::InvalidArgument("the sample has no member") : Status::Ok();
    }
    std::string_view key;
    std::string name;
    if (!SplitMemberName(member->name, key, name)) {
      continue;
    }
    if (std::ranges::find(out.names, name) != out.names.end()) {
      return Status::InvalidArgument(fmt::format("'{}' comes twice", member->name));
    }
    out.key = key;
    const std::string_view content(reinterpret_cast<const char*>(member->content.data()), member->content.size());
    if (const Status read = ReadMember(EndingOf(name), content, out.row.emplace_back()); !read.ok()) {
      return read.WithContext(fmt::format("'{}'", member->name));
    }
    out.names.push_back(std::move(name));
  }
}

Status AppendWebSample(std::string& tar, std::string_view key, std::span<const Column> columns, const Row& row) {
  static const Encoding kAsJson = *Encoding::Parse("json");
  for (size_t i = 0; i < columns.size(); ++i) {
    const Field& field = row[i];
    std::string value;
    Status written;
    switch (field.kind) {
      case FieldKind::kNull:
        continue;
      case FieldKind::kText:
        value = EndingOf(columns[i].name) == "json" ? std::string() : std::string(field.text);
        written = value.empty() && !field.text.empty() ? EncodeField(kAsJson, field, value) : Status::Ok();
        break;
      case FieldKind::kBytes:
        value = field.text;
        break;
      case FieldKind::kArray:
      case FieldKind::kList:
        written = Status::InvalidArgument("tar files hold no arrays: take mds");
        break;
      default:
        written = EncodeField(kAsJson, field, value);
    }
    if (written.ok()) {
      written = AppendTarMember(tar, fmt::format("{}.{}", key, columns[i].name), std::as_bytes(std::span(value)));
    }
    if (!written.ok()) {
      return written.WithContext(fmt::format("column '{}'", columns[i].name));
    }
  }
  return Status::Ok();
}

}  // namespace assay::shards
