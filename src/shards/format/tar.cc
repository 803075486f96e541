#include "shards/format/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kBlock = 512;
constexpr size_t kRecord = 20 * kBlock;
constexpr size_t kMostNameBytes = size_t{1} << 16;

struct TarField {
  size_t offset;
  size_t size;
};
constexpr TarField kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kType{156, 1}, kMagic{257, 8}, kOwner{265, 32}, kGroup{297, 32}, kPrefix{345, 155};

size_t RoundUpToBlock(size_t bytes) {
  return (bytes + kBlock - 1) / kBlock * kBlock;
}

std::string_view FieldText(Bytes header, TarField field) {
  const std::string_view whole(reinterpret_cast<const char*>(header.data()) + field.offset, field.size);
  return whole.substr(0, whole.find('\0'));
}

/// An octal number with blanks around it, or one in base 256 behind a byte with the highest bit set.
std::optional<uint64_t> FieldNumber(Bytes header, TarField field) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(header.data()) + field.offset;
  if ((bytes[0] & 0x80) != 0) {
    uint64_t value = bytes[0] & 0x3f;
    for (size_t i = 1; i < field.size; ++i) {
      if (value >> 55 != 0) {
        return std::nullopt;
      }
      value = value << 8 | bytes[i];
    }
    return value;
  }
  std::string_view text = FieldText(header, field);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  return (error == std::errc() || text.empty()) && end == text.data() + text.size() ? std::optional(value)
                                                                                    : std::nullopt;
}

/// The sum of the header's bytes with blanks in place of itself.
uint64_t SumOf(Bytes header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kSum.offset && i < kSum.offset + kSum.size;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

/// What extended headers say of the member behind them.
struct Extended {
  std::optional<std::string> path;
  std::optional<uint64_t> size;
};

/// Records "LENGTH KEY=VALUE\n" of a pax header.
bool ReadPax(std::string_view records, Extended& extended) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const size_t blank = static_cast<size_t>(end - records.data());
    if (error != std::errc() || length < blank + 2 || length > records.size() || records[blank] != ' ' ||
        records[length - 1] != '\n') {
      return false;
    }
    const std::string_view record = records.substr(blank + 1, length - blank - 2);
    const size_t equals = std::min(record.find('='), record.size());
    const std::string_view value = record.substr(std::min(equals + 1, record.size()));
    if (record.substr(0, equals) == "path") {
      extended.path = value;
    } else if (record.substr(0, equals) == "size") {
      uint64_t size = 0;
      const auto [stop, wrong] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (wrong != std::errc() || stop != value.data() + value.size()) {
        return false;
      }
      extended.size = size;
    }
    records.remove_prefix(length);
  }
  return true;
}

std::string NameOf(Bytes header) {
  const std::string_view prefix = FieldText(header, kPrefix);
  const bool is_ustar = FieldText(header, kMagic).starts_with("ustar") && header[kMagic.offset + 5] == std::byte{0};
  const std::string name(FieldText(header, kName));
  return is_ustar && !prefix.empty() ? std::string(prefix) + "/" + name : name;
}

bool IsRegular(char type) {
  return type == '0' || type == '\0' || type == '7';
}

}  // namespace

Status TarReader::Damaged(uint64_t at, std::string_view what) const {
  return Status::InvalidArgument(fmt::format("the tar is damaged at byte {}: {}", offset_ + at, what));
}

Status TarReader::CutOff(uint64_t at, std::string_view what) {
  is_cut_off_ = true;
  return Damaged(at, what);
}

Result<std::optional<TarMember>> TarReader::Next() {
  Extended extended;
  const uint64_t begin = at_;
  uint64_t first = begin;  // of the member's own headers: others are read over
  while (at_ + kBlock <= tar_.size()) {
    const Bytes header = tar_.subspan(at_, kBlock);
    const auto is_empty = [](std::byte b) { return b == std::byte{0}; };
    if (std::ranges::all_of(header, is_empty)) {
      const Bytes rest = tar_.subspan(at_);
      const auto behind = std::ranges::find_if_not(rest, is_empty);
      return behind == rest.end() ? Result<std::optional<TarMember>>(std::optional<TarMember>())
                                  : Damaged(at_ + static_cast<uint64_t>(behind - rest.begin()),
                                            "it goes on behind its end, as of two tars in one file");
    }
    if (FieldNumber(header, kSum) != SumOf(header)) {
      return Damaged(at_, "a header's sum is wrong");
    }
    const char type = static_cast<char>(header[kType.offset]);
    const auto own_size = FieldNumber(header, kSize);
    const uint64_t size =
        IsRegular(type) ? extended.size.value_or(own_size.value_or(UINT64_MAX)) : own_size.value_or(UINT64_MAX);
    const uint64_t content_at = at_ + kBlock;
    if (size > tar_.size() - content_at) {
      return CutOff(at_, "a member ends behind the file");
    }
    const Bytes content = tar_.subspan(content_at, size);
    const std::string_view chars(reinterpret_cast<const char*>(content.data()), content.size());
    at_ = std::min<uint64_t>(content_at + RoundUpToBlock(size), tar_.size());
    if (IsRegular(type)) {
      std::string name = extended.path.value_or(NameOf(header));
      return std::optional(TarMember{std::move(name), content, first, at_});
    }
    if (type == 'x') {
      if (!ReadPax(chars, extended)) {
        return Damaged(content_at, "an extended header cannot be read");
      }
    } else if (type == 'L') {
      if (size > kMostNameBytes) {
        return Damaged(content_at, "a name is longer than 64 KiB");
      }
      extended.path = chars.substr(0, chars.find('\0'));
    } else if (type != 'g' && type != 'K') {
      extended = {};
      first = at_;
    }
  }
  return at_ == tar_.size() ? Result<std::optional<TarMember>>(std::optional<TarMember>())
                            : CutOff(at_, "it ends within a header");
}

namespace {

void PutText(std::string& header, TarField field, std::string_view text) {
  std::memcpy(header.data() + field.offset, text.data(), std::min(text.size(), field.size));
}

void AppendBlocks(std::string& tar, std::string_view content) {
  tar += content;
  tar.append(RoundUpToBlock(content.size()) - content.size(), '\0');
}

void AppendHeader(std::string& tar, std::string_view prefix, std::string_view name, char type, uint64_t size) {
  std::string header(kBlock, '\0');
  PutText(header, kName, name);
  PutText(header, kMode, "0000444");
  PutText(header, kUid, "0000000");
  PutText(header, kGid, "0000000");
  PutText(header, kSize, fmt::format("{:011o}", size));
  PutText(header, kTime, "00000000000");
  header[kType.offset] = type;
  PutText(header, kMagic, std::string_view("ustar\00000", 8));
  PutText(header, kOwner, "bigdata");
  PutText(header, kGroup, "bigdata");
  PutText(header, kPrefix, prefix);
  const uint64_t sum = SumOf(std::as_bytes(std::span(header)));
  PutText(header, kSum, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  tar += header;
}

/// Where a name is cut into ustar's prefix and name; nothing where it does not fit.
std::optional<size_t> CutOf(std::string_view name) {
  if (name.size() <= kName.size) {
    return 0;
  }
  for (size_t cut = name.find('/'); cut != std::string_view::npos && cut <= kPrefix.size;
       cut = name.find('/', cut + 1)) {
    if (name.size() - cut - 1 <= kName.size && cut > 0) {
      return cut;
    }
  }
  return std::nullopt;
}

/// "LENGTH path=NAME\n", where the length counts itself.
std::string PaxPath(std::string_view name) {
  const size_t rest = std::string_view(" path=\n").size() + name.size();
  size_t length = rest + 1;
  while (length != rest + fmt::to_string(length).size()) {
    length = rest + fmt::to_string(length).size();
  }
  return fmt::format("{} path={}\n", length, name);
}

}  // namespace

Status AppendTarMember(std::string& tar, std::string_view name, Bytes content) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 33;  // eleven octal digits
  if (content.size() >= kMostBytes) {
    return Status::InvalidArgument(fmt::format("'{}' has 8 GiB and more, which a tar cannot hold", name));
  }
  const std::optional<size_t> cut = CutOf(name);
  if (!cut) {
    const std::string path = PaxPath(name);
    AppendHeader(tar, "", "PaxHeaders/member", 'x', path.size());
    AppendBlocks(tar, path);
  }
  const size_t prefix = cut.value_or(0);
  const std::string_view own = prefix == 0 ? name : name.substr(prefix + 1);
  AppendHeader(tar, name.substr(0, prefix), own.substr(0, kName.size), '0', content.size());
  AppendBlocks(tar, {reinterpret_cast<const char*>(content.data()), content.size()});
  return Status::Ok();
}

uint64_t EndedTarBytes(uint64_t bytes) {
  return (bytes + 2 * kBlock + kRecord - 1) / kRecord * kRecord;
}

std::string TarEnd(uint64_t bytes) {
  return std::string(EndedTarBytes(bytes) - bytes, '\0');
}

}  // namespace assay::shards
