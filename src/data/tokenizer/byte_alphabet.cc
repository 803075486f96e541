#include "data/tokenizer/byte_alphabet.h"

#include <array>

#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

// Printable Latin-1 stands for itself; the other bytes, in order, are U+0100 and up (GPT-2's encoder.py).
constexpr bool StandsForItself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<uint32_t, 256> MakeCodePoints() {
  std::array<uint32_t, 256> code_points{};
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    code_points[byte] = StandsForItself(byte) ? byte : next++;
  }
  return code_points;
}

constexpr uint32_t kAlphabetLimit = 0x144;

// Code point to byte, -1 outside the alphabet.
constexpr std::array<int, kAlphabetLimit> MakeBytes() {
  std::array<int, kAlphabetLimit> bytes{};
  bytes.fill(-1);
  const auto code_points = MakeCodePoints();
  for (int byte = 0; byte < 256; ++byte) {
    bytes[code_points[static_cast<size_t>(byte)]] = byte;
  }
  return bytes;
}

constexpr auto kCodePoints = MakeCodePoints();
constexpr auto kBytes = MakeBytes();

}  // namespace

std::string ToByteAlphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    AppendUtf8(kCodePoints[static_cast<unsigned char>(byte)], &text);
  }
  return text;
}

std::optional<std::string> FromByteAlphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text.data() + i);
    if (c.value >= kAlphabetLimit || kBytes[c.value] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(kBytes[c.value]));
    i += c.bytes;
  }
  return bytes;
}

}  // namespace assay::data
