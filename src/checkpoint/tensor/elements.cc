#include "checkpoint/tensor/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace assay::checkpoint {
namespace {

using storage::Bytes;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// How an 8- or 16-bit float is made (IEEE 754-2019 6.2, OCP 8-bit floating point 1.0, and the "fnuz" forms of
/// arXiv:2206.02915).
struct FloatForm {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;       ///< all exponent bits set: infinity, NaN
  bool negative_zero_nan;  ///< no negative zero: its bits are the only NaN ("fnuz")
};

constexpr FloatForm kHalf = {5, 10, 15, true, false};
constexpr FloatForm kE4M3Fn = {4, 3, 7, false, false};
constexpr FloatForm kE4M3FnUz = {4, 3, 8, false, true};
constexpr FloatForm kE5M2 = {5, 2, 15, true, false};
constexpr FloatForm kE5M2FnUz = {5, 2, 16, false, true};

double Decode(const FloatForm& form, uint32_t bits) {
  const uint32_t mantissa_mask = (1u << form.mantissa_bits) - 1;
  const uint32_t exponent_mask = (1u << form.exponent_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = (bits >> form.mantissa_bits) & exponent_mask;
  const bool negative = (bits >> (form.mantissa_bits + form.exponent_bits)) != 0;
  if (form.negative_zero_nan && negative && mantissa == 0 && exponent == 0) {
    return kNaN;
  }
  if (!form.negative_zero_nan && exponent == exponent_mask) {
    if (form.has_infinity) {
      return mantissa != 0 ? kNaN : negative ? -kInfinity : kInfinity;
    }
    if (mantissa == mantissa_mask) {  // "fn": only all ones are NaN
      return kNaN;
    }
  }
  const double fraction = static_cast<double>(mantissa) / (1u << form.mantissa_bits);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - form.bias)
                                         : std::ldexp(1 + fraction, static_cast<int>(exponent) - form.bias);
  return negative ? -magnitude : magnitude;
}

/// 2^(bits - 127), as scales of microscaling formats have it.
double DecodeE8M0(uint32_t bits) {
  return bits == 0xff ? kNaN : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

template <typename DecodeOne>
std::array<double, 256> TableOf(const DecodeOne& decode) {
  std::array<double, 256> table{};
  for (uint32_t bits = 0; bits < table.size(); ++bits) {
    table[bits] = decode(bits);
  }
  return table;
}

const std::vector<double>& HalfTable() {
  static const std::vector<double> table = [] {
    std::vector<double> values(1 << 16);
    for (uint32_t bits = 0; bits < values.size(); ++bits) {
      values[bits] = Decode(kHalf, bits);
    }
    return values;
  }();
  return table;
}

/// An element as its bits, and as the number that they stand for.
template <typename Bits, typename ToDouble>
struct Kind {
  using Raw = Bits;
  ToDouble value;
};
template <typename Bits, typename ToDouble>
Kind<Bits, ToDouble> MakeKind(ToDouble value) {
  return {value};
}

template <typename Raw>
Raw Load(const std::byte* at) {
  Raw raw;
  std::memcpy(&raw, at, sizeof(raw));
  return raw;
}

/// Calls `use` with the kind of a numeric dtype whose elements are real.
template <typename Use>
auto WithReal(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::kFloat64:
      return use(MakeKind<uint64_t>([](uint64_t bits) { return std::bit_cast<double>(bits); }));
    case DType::kFloat32:
      return use(MakeKind<uint32_t>([](uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }));
    case DType::kFloat16: {
      const double* table = HalfTable().data();
      return use(MakeKind<uint16_t>([table](uint16_t bits) { return table[bits]; }));
    }
    case DType::kBFloat16:
      return use(MakeKind<uint16_t>(
          [](uint16_t bits) { return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)); }));
    case DType::kInt64:
      return use(MakeKind<uint64_t>([](uint64_t bits) { return static_cast<double>(static_cast<int64_t>(bits)); }));
    case DType::kInt32:
      return use(MakeKind<uint32_t>([](uint32_t bits) { return static_cast<double>(static_cast<int32_t>(bits)); }));
    case DType::kInt16:
      return use(MakeKind<uint16_t>([](uint16_t bits) { return static_cast<double>(static_cast<int16_t>(bits)); }));
    case DType::kInt8:
      return use(MakeKind<uint8_t>([](uint8_t bits) { return static_cast<double>(static_cast<int8_t>(bits)); }));
    case DType::kUInt64:
      return use(MakeKind<uint64_t>([](uint64_t bits) { return static_cast<double>(bits); }));
    case DType::kUInt32:
      return use(MakeKind<uint32_t>([](uint32_t bits) { return static_cast<double>(bits); }));
    case DType::kUInt16:
      return use(MakeKind<uint16_t>([](uint16_t bits) { return static_cast<double>(bits); }));
    default: {
      static const auto e4m3fn = TableOf([](uint32_t bits) { return Decode(kE4M3Fn, bits); });
      static const auto e4m3fnuz = TableOf([](uint32_t bits) { return Decode(kE4M3FnUz, bits); });
      static const auto e5m2 = TableOf([](uint32_t bits) { return Decode(kE5M2, bits); });
      static const auto e5m2fnuz = TableOf([](uint32_t bits) { return Decode(kE5M2FnUz, bits); });
      static const auto e8m0 = TableOf(DecodeE8M0);
      static const auto byte = TableOf([](uint32_t bits) { return static_cast<double>(bits); });
      const double* table = dtype == DType::kFloat8E4M3Fn     ? e4m3fn.data()
                            : dtype == DType::kFloat8E4M3FnUz ? e4m3fnuz.data()
                            : dtype == DType::kFloat8E5M2     ? e5m2.data()
                            : dtype == DType::kFloat8E5M2FnUz ? e5m2fnuz.data()
                            : dtype == DType::kFloat8E8M0Fnu  ? e8m0.data()
                                                              : byte.data();
      return use(MakeKind<uint8_t>([table](uint8_t bits) { return table[bits]; }));
    }
  }
}

/// The dtype of both parts of a complex one; nothing of others.
std::optional<DType> PartOf(DType dtype) {
  return dtype == DType::kComplex128  ? std::optional(DType::kFloat64)
         : dtype == DType::kComplex64 ? std::optional(DType::kFloat32)
         : dtype == DType::kComplex32 ? std::optional(DType::kFloat16)
                                      : std::nullopt;
}

/// Of `Parts` numbers that make an element: 1, or 2 of a complex one.
template <int Parts, typename ElementKind>
ElementSums Sum(const ElementKind& kind, Bytes elements) {
  using Raw = typename ElementKind::Raw;
  ElementSums sums;
  for (size_t at = 0; at + Parts * sizeof(Raw) <= elements.size(); at += Parts * sizeof(Raw)) {
    double square = 0;
    for (int part = 0; part < Parts; ++part) {
      const double value = kind.value(Load<Raw>(elements.data() + at + part * sizeof(Raw)));
      square += value * value;
    }
    const bool finite = std::isfinite(square);
    sums.squares += finite ? square : 0;
    sums.not_finite += finite ? 0 : 1;
  }
  return sums;
}

template <int Parts, typename ElementKind>
ElementDifference Compare(const ElementKind& kind, Bytes a, Bytes b) {
  using Raw = typename ElementKind::Raw;
  ElementDifference difference;
  difference.of_a = Sum<Parts>(kind, a);
  difference.of_b = Sum<Parts>(kind, b);
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) {
    return difference;
  }
  for (size_t at = 0; at + Parts * sizeof(Raw) <= a.size(); at += Parts * sizeof(Raw)) {
    double square = 0;
    bool same = true;
    for (int part = 0; part < Parts; ++part) {
      const Raw of_a = Load<Raw>(a.data() + at + part * sizeof(Raw));
      const Raw of_b = Load<Raw>(b.data() + at + part * sizeof(Raw));
      const double apart = kind.value(of_a) - kind.value(of_b);
      square += apart * apart;
      same = same && of_a == of_b;
    }
    if (same) {
      continue;
    }
    ++difference.differing;
    if (!std::isfinite(square)) {
      ++difference.not_comparable;
      continue;
    }
    difference.squares += square;
    difference.largest = std::max(difference.largest, std::sqrt(square));
  }
  return difference;
}

}  // namespace

void ElementDifference::Add(const ElementDifference& other) {
  of_a.Add(other.of_a);
  of_b.Add(other.of_b);
  squares += other.squares;
  largest = std::max(largest, other.largest);
  differing += other.differing;
  not_comparable += other.not_comparable;
}

bool IsNumeric(DType dtype) {
  const DTypeInfo& info = InfoOf(dtype);
  return !info.quantized && dtype != DType::kFloat4E2M1FnX2 && !info.name.starts_with("bits");
}

ElementDifference CompareElements(DType dtype, Bytes a, Bytes b) {
  if (const std::optional<DType> part = PartOf(dtype)) {
    return WithReal(*part, [&](const auto& kind) { return Compare<2>(kind, a, b); });
  }
  return WithReal(dtype, [&](const auto& kind) { return Compare<1>(kind, a, b); });
}

}  // namespace assay::checkpoint
