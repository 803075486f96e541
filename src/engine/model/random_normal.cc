#include "engine/model/random_normal.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace assay::engine {
namespace {

/// Numbers per stream. Part of the definition of the sequence: another value gives other weights.
constexpr int64_t kChunk = 1 << 16;

uint64_t split_mix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Xoshiro256 {
 public:
  explicit Xoshiro256(uint64_t key) {
    for (uint64_t& word : state_) {
      word = split_mix(key);
    }
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform over (0, 1].
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1.0p-53; }

 private:
  std::array<uint64_t, 4> state_;
};

/// The layers of the ziggurat: 256 strips of equal area under exp(-x^2 / 2).
struct Ziggurat {
  static constexpr int kLayers = 256;
  static constexpr double kTailStart = 3.6541528853610088;
  static constexpr double kStripArea = 0.00492867323399;

  std::array<double, kLayers + 1> edge;     ///< right edges, widest first; edge[0] is that of the base with its tail
  std::array<double, kLayers + 1> density;  ///< exp(-edge^2 / 2)

  Ziggurat() {
    const auto gauss = [](double x) { return std::exp(-0.5 * x * x); };
    edge[0] = kStripArea / gauss(kTailStart);
    edge[1] = kTailStart;
    for (int i = 2; i < kLayers; ++i) {
      edge[i] = std::sqrt(-2 * std::log(kStripArea / edge[i - 1] + gauss(edge[i - 1])));
    }
    edge[kLayers] = 0;
    std::ranges::transform(edge, density.begin(), gauss);
  }

  double tail(Xoshiro256& random) const {
    double x = 0;
    double y = 0;
    do {
      x = -std::log(random.unit()) / kTailStart;
      y = -std::log(random.unit());
    } while (2 * y < x * x);
    return kTailStart + x;
  }

  double draw(Xoshiro256& random) const {
    while (true) {
      const uint64_t bits = random.next();
      const auto layer = static_cast<size_t>(bits & (kLayers - 1));
      // The upper 53 bits as a signed fraction in [-1, 1); the layer's 8 bits are below them.
      const double fraction = static_cast<double>(static_cast<int64_t>(bits) >> 11) * 0x1.0p-52;
      const double x = fraction * edge[layer];
      if (std::abs(x) < edge[layer + 1]) {
        return x;
      }
      if (layer == 0) {
        return std::copysign(tail(random), fraction);
      }
      const double height = density[layer] + random.unit() * (density[layer + 1] - density[layer]);
      if (height < std::exp(-0.5 * x * x)) {
        return x;
      }
    }
  }
};

/// Calls `draw(random)` for every element, chunk by chunk, each chunk with a stream of its own.
template <typename Draw>
void fill(at::Tensor& target, uint64_t key, const Draw& draw) {
  const int64_t chunks = (target.numel() + kChunk - 1) / kChunk;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, target.scalar_type(), "fill", [&] {
    scalar_t* const data = target.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        Xoshiro256 random(key + static_cast<uint64_t>(chunk) * 0xd1342543de82ef95u);
        const int64_t end = std::min((chunk + 1) * kChunk, target.numel());
        for (int64_t i = chunk * kChunk; i < end; ++i) {
          data[i] = static_cast<scalar_t>(static_cast<float>(draw(random)));
        }
      }
    });
  });
}

}  // namespace

uint64_t stream_key(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char character : name) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  }
  uint64_t state = seed ^ std::rotl(hash, 32);
  return split_mix(state);
}

void fill_keys(std::span<int64_t> keys, uint64_t key) {
  std::ranges::generate(keys, [&] { return static_cast<int64_t>(split_mix(key)); });
}

void fill_normal(at::Tensor& target, double stddev, uint64_t key) {
  static const Ziggurat ziggurat;
  fill(target, key, [stddev](Xoshiro256& random) { return stddev * ziggurat.draw(random); });
}

void fill_uniform(at::Tensor& target, double bound, uint64_t key) {
  fill(target, key, [bound](Xoshiro256& random) { return bound * (1.0 - 2.0 * random.unit()); });
}

}  // namespace assay::engine
