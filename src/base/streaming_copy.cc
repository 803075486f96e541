#include "base/streaming_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace assay {

#ifdef __SSE2__

namespace {

constexpr size_t kVectorBytes = sizeof(__m128i);
constexpr size_t kLineBytes = 4 * kVectorBytes;

void StreamLine(const std::byte* from, std::byte* to) {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  // All loads before the stores: then the stores fill one line of the write-combining buffer without a pause.
  const __m128i a = _mm_loadu_si128(source);
  const __m128i b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2);
  const __m128i d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void StreamingCopy(std::span<const std::byte> from, std::byte* to) {
  const size_t beyond_line = reinterpret_cast<uintptr_t>(to) % kLineBytes;
  const size_t head = std::min(from.size(), (kLineBytes - beyond_line) % kLineBytes);
  std::memcpy(to, from.data(), head);
  size_t done = head;
  for (; from.size() - done >= kLineBytes; done += kLineBytes) {
    StreamLine(from.data() + done, to + done);
  }
  std::memcpy(to + done, from.data() + done, from.size() - done);
  _mm_sfence();
}

#else

void StreamingCopy(std::span<const std::byte> from, std::byte* to) {
  std::memcpy(to, from.data(), from.size());
}

#endif

}  // namespace assay
