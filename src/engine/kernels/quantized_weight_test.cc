// Weights of few bits against their definition, bit by bit, and products against those with the weight that they are.
#include "engine/kernels/quantized_weight.h"

#include "engine/kernels/ops.h"
#include "engine/kernels/shape_memory.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::relative_error;
using testing::Tensors;

constexpr int64_t kOutputs = 64;
constexpr int64_t kInputs = 96;
constexpr int64_t kGroups = 3;
constexpr int64_t kBits[] = {2, 3, 4, 8};

/// Any bits, scales and zeros; inputs of a group need not lie together.
QuantizedTensors any_weight(int64_t bits) {
  at::manual_seed(static_cast<uint64_t>(bits));
  return {.words_WO = at::randint(INT32_MIN, INT32_MAX, {kInputs * bits / 32, kOutputs}, at::kLong).to(at::kInt),
          .scales_GO = at::rand({kGroups, kOutputs}).add_(0.1).to(at::kHalf),
          .zeros_GO = at::randint(0, int64_t{1} << bits, {kGroups, kOutputs}, at::kLong).to(at::kByte),
          .group_of_I = at::randint(0, kGroups, {kInputs}, at::kLong).to(at::kInt),
          .bits = bits};
}

/// The value of an input: its bits one by one, in a column of words that begins with the lowest.
int64_t value_at(const at::TensorAccessor<int32_t, 2>& words_WO, int64_t bits, int64_t input, int64_t output) {
  int64_t value = 0;
  for (int64_t b = 0; b < bits; ++b) {
    const int64_t bit = input * bits + b;
    const auto word = static_cast<uint32_t>(words_WO[bit / 32][output]);
    value |= static_cast<int64_t>((word >> (bit % 32)) & 1U) << b;
  }
  return value;
}

at::Tensor by_definition(const QuantizedTensors& tensors) {
  const at::Tensor weight_OI = at::empty({kOutputs, kInputs}, at::kDouble);
  const auto words = tensors.words_WO.accessor<int32_t, 2>();
  const auto zeros = tensors.zeros_GO.accessor<uint8_t, 2>();
  const at::Tensor scales_GO = tensors.scales_GO.to(at::kDouble);
  const auto scales = scales_GO.accessor<double, 2>();
  for (int64_t o = 0; o < kOutputs; ++o) {
    for (int64_t i = 0; i < kInputs; ++i) {
      const int64_t group = tensors.group_of_I.const_data_ptr<int32_t>()[i];
      const int64_t difference = value_at(words, tensors.bits, i, o) - zeros[group][o];
      weight_OI.accessor<double, 2>()[o][i] = static_cast<double>(difference) * scales[group][o];
    }
  }
  return weight_OI;
}

void expect_definition() {
  for (const int64_t bits : kBits) {
    const QuantizedTensors tensors = any_weight(bits);
    const at::Tensor want = by_definition(tensors);
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
      const at::Tensor got = QuantizedWeight(tensors, dtype).dequantized();
      EXPECT_TRUE(got.equal(want.to(dtype))) << bits << " bits as " << dtype;
    }
    EXPECT_TRUE(QuantizedWeight(tensors, at::kDouble).dequantized().allclose(want, 1e-7, 0)) << "the reference";
  }
}

TEST(QuantizedWeight, IsItsDefinition) {
  expect_definition();
}

TEST(QuantizedWeight, IsItsDefinitionByTheBodiesOfTheCudaKernels) {
  testing::with_cuda_bodies(expect_definition);
}

TEST(QuantizedWeight, PackedValuesComeBack) {
  for (const int64_t bits : kBits) {
    const at::Tensor values = at::randint(0, int64_t{1} << bits, {kInputs, kOutputs}, at::kLong).to(at::kByte);
    EXPECT_TRUE(unpack_values(pack_values(values, bits), bits).equal(values)) << bits;
  }
}

TEST(QuantizedWeight, NearestValuesAreHalfAStepAwayAtMost) {
  at::manual_seed(3);
  at::Tensor weight_OI = at::randn({kOutputs, kInputs});
  weight_OI[5].zero_();
  for (const int64_t bits : kBits) {
    for (const int64_t group_size : {int64_t{32}, int64_t{40}, int64_t{-1}, int64_t{1000}}) {
      const QuantizedTensors tensors = round_to_nearest(weight_OI, bits, group_size);
      const at::Tensor step_OI = tensors.scales_GO.to(at::kFloat).index_select(0, tensors.group_of_I).t();
      const at::Tensor off_OI = (QuantizedWeight(tensors, at::kFloat).dequantized() - weight_OI).abs();
      // The scale is rounded to float16.
      EXPECT_TRUE((off_OI <= step_OI * (0.5 + 0x1p-11 * static_cast<double>(int64_t{1} << bits))).all().item<bool>())
          << bits << " bits, groups of " << group_size;
    }
  }
}

TEST(QuantizedWeight, RefusesSizesThatFillNoWords) {
  EXPECT_THROW(round_to_nearest(at::zeros({64, 33}), 4, 32), c10::Error);
  EXPECT_EQ(round_to_nearest(at::zeros({33, 64}), 4, 32).words_WO.sizes(), (std::vector<int64_t>{8, 33}));
}

/// A linear layer, and one with LoRA, and the gradients of all but the weight.
Tensors layers(const Tensors& leaves, const at::Tensor& weight_OI, const FrozenWeightPtr& frozen,
               at::ScalarType dtype) {
  const auto operation = [&](const Tensors& in) -> Tensors {
    const LoraTensors lora{.a_rI = in[1], .b_Or = in[2], .scale = 0.5};
    return {linear(in[0], weight_OI, std::nullopt, {}, Output::kComputed, frozen),
            lora_linear(in[0], weight_OI, in[3], lora, {}, Output::kComputed, frozen)};
  };
  return testing::run(operation, leaves, {true, true, true, true}, dtype);
}

TEST(QuantizedWeight, LayersAreThoseOfTheWeightThatItIs) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const auto frozen = c10::make_intrusive<QuantizedWeight>(any_weight(4), dtype);
    const Tensors leaves = {testing::random({7, kInputs}), testing::random({3, kInputs}, 2),
                            testing::random({kOutputs, 3}, 3), testing::random({kOutputs}, 4)};
    const at::Tensor shape_OI = at::empty({1}, dtype).expand({kOutputs, kInputs});
    const Tensors got = layers(leaves, shape_OI, frozen, dtype);
    const Tensors want = layers(leaves, frozen->dequantized().contiguous(), {}, dtype);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LT(relative_error(got[i], want[i]), 1e-2) << i << " in " << dtype;
      EXPECT_TRUE(dtype != at::kFloat || relative_error(got[i], want[i]) < 1e-6) << i;
    }
  }
}

TEST(QuantizedWeight, AShapeTakesWhatTheWeightTakes) {
  const ShapeMemory memory;
  const QuantizedTensors tensors = round_to_nearest(at::empty({kOutputs, kInputs}, at::kMeta), 4, 32);
  const int64_t packed = kOutputs * kInputs / 2 + kGroups * kOutputs * 3 + kInputs * 4;
  EXPECT_GE(memory.live_bytes(), packed);
  EXPECT_LT(memory.live_bytes(), packed + 1024) << "beside what alignment adds";
  QuantizedWeight weight(tensors, at::kBFloat16);
  const at::Tensor x = at::empty({7, kInputs}, at::TensorOptions(at::kBFloat16).device(at::kMeta));
  EXPECT_EQ(weight.product_nt(x, {}).sizes(), (std::vector<int64_t>{7, kOutputs}));
  EXPECT_GE(memory.peak_bytes(), packed + 2 * kOutputs * kInputs);
}

}  // namespace
}  // namespace assay::engine
