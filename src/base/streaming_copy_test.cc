#include "base/streaming_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace assay {
namespace {

constexpr size_t kMargin = 64;
constexpr auto kUntouched = std::byte{0xee};

std::vector<std::byte> Counting(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  return bytes;
}

TEST(StreamingCopy, CopiesEveryByteAndNoOther) {
  for (const size_t size : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 4096, 4099}) {
    const std::vector<std::byte> source = Counting(size + kMargin);
    for (size_t shift = 0; shift < kMargin; ++shift) {
      std::vector<std::byte> target(size + 3 * kMargin, kUntouched);
      std::vector<std::byte> expected = target;
      std::copy_n(source.begin() + static_cast<ptrdiff_t>(shift), size,
                  expected.begin() + static_cast<ptrdiff_t>(shift));
      StreamingCopy(std::span(source).subspan(shift, size), target.data() + shift);
      ASSERT_EQ(target, expected) << size << " bytes at " << shift;
      std::vector<std::byte> skewed(size + 3 * kMargin, kUntouched);
      StreamingCopy(std::span(source).first(size), skewed.data() + shift);
      ASSERT_TRUE(std::equal(source.begin(), source.begin() + static_cast<ptrdiff_t>(size),
                             skewed.begin() + static_cast<ptrdiff_t>(shift)));
    }
  }
}

}  // namespace
}  // namespace assay
