#include "checkpoint/value/encodings.h"

namespace assay::checkpoint {

bool AppendUtf8(uint32_t code_point, std::string& text) {
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) {
    return false;
  }
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
    return true;
  }
  const int following = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr uint32_t kLeads[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kLeads[following] | (code_point >> (6 * following)));
  for (int i = following - 1; i >= 0; --i) {
    text += static_cast<char>(0x80 | ((code_point >> (6 * i)) & 0x3f));
  }
  return true;
}

std::string Latin1ToUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char byte : bytes) {
    (void)AppendUtf8(static_cast<unsigned char>(byte), text);
  }
  return text;
}

std::optional<std::string> Utf8ToLatin1(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
      continue;
    }
    if ((lead != 0xc2 && lead != 0xc3) || i + 1 == text.size() ||
        (static_cast<unsigned char>(text[i + 1]) & 0xc0) != 0x80) {
      return std::nullopt;
    }
    bytes += static_cast<char>(((lead & 0x03) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f));
  }
  return bytes;
}

}  // namespace assay::checkpoint
