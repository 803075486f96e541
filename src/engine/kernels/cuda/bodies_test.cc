// The bodies of the CUDA kernels, run on the host: what the operations' own tests (which run on them too) do not reach.
#include <ATen/ATen.h>

#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/test_support.h"

namespace assay::engine::cuda {
namespace {

using testing::kPrecisions;
using testing::make_batch;
using testing::relative_error;
using testing::Tensors;
using testing::with_cuda_bodies;

RotaryTable make_rotary(int64_t positions, int64_t head_dim) {
  const at::Tensor frequency = at::pow(10000.0, -at::arange(head_dim / 2, at::kDouble) * 2 / head_dim);
  const at::Tensor angle = at::outer(at::arange(positions, at::kDouble), frequency);
  return {angle.cos().to(at::kFloat), angle.sin().to(at::kFloat)};
}

TEST(CudaBodies, RotateAsTheCompositionDoesAndBack) {
  const PackedBatch batch = make_batch({5, 1, 9});
  with_cuda_bodies([&] {
    for (const auto& precision : kPrecisions) {
      for (const int64_t head_dim : {64, 10}) {
        at::manual_seed(1);
        const RotaryTable rotary = make_rotary(batch.longest_row, head_dim);
        const at::Tensor x = at::randn({batch.tokens(), 3, head_dim}).to(precision.dtype);
        const at::Tensor turned = rotate(x, rotary, batch.positions_T, /*inverse=*/false);
        EXPECT_LT(relative_error(turned, reference::rotate(x, rotary, batch.positions_T, false)),
                  precision.tolerance / 10);
        const at::Tensor back = rotate(turned, rotary, batch.positions_T, /*inverse=*/true);
        EXPECT_LT(relative_error(back, x), precision.tolerance);
      }
    }
  });
}

TEST(CudaBodies, ThePiecesOfAFloatAddUpToIt) {
  with_cuda_bodies([] {
    at::manual_seed(2);
    const at::Tensor x = at::randn({7, 11}) * at::pow(10.0, at::arange(-5, 6, at::kFloat));
    const at::Tensor beside = cuda::split(x, {0, 1, 2}, /*side_by_side=*/true);
    const at::Tensor below = cuda::split(x, {2, 0, 0}, /*side_by_side=*/false);
    EXPECT_TRUE(beside.view({7, 3, 11}).to(at::kFloat).sum(1).allclose(x, 1e-7, 0.0));
    EXPECT_TRUE(below.narrow(0, 7, 7).equal(x.to(at::kBFloat16)));
    EXPECT_TRUE(below.narrow(0, 0, 7).equal(beside.narrow(1, 22, 11)));
  });
}

/// A mask that drops a third, or none.
Dropped dropped(const at::Tensor& x, bool masked) {
  if (!masked) {
    return {x, {}, 1.0};
  }
  return {x, at::rand(x.sizes()).gt(0.33).to(at::kByte), 1.5};
}

at::Tensor wide(const Dropped& x) {
  const at::Tensor data = x.data_TI.to(at::kDouble);
  return x.mask_TI.defined() ? data * x.mask_TI * x.keep_scale : data;
}

TEST(CudaBodies, SplitProductsAreAsExactAsFloat32) {
  with_cuda_bodies([] {
    at::manual_seed(3);
    for (const bool masked : {false, true}) {
      const Dropped x = dropped(at::randn({40, 96}).to(at::kBFloat16), masked);
      const at::Tensor a = at::randn({4, 96});
      const at::Tensor low = at::randn({40, 4});
      const at::Tensor down = cuda::project_down(x, a, 0.5);
      EXPECT_LT(relative_error(down, at::mm(wide(x), a.t().to(at::kDouble)) * 0.5), 1e-6);
      const at::Tensor outer = cuda::outer_sum(low, x, 0.5);
      EXPECT_LT(relative_error(outer, at::mm(low.t().to(at::kDouble), wide(x)) * 0.5), 1e-6);
    }
  });
}

TEST(CudaBodies, SplitUpdateIsRoundedOnce) {
  with_cuda_bodies([] {
    at::manual_seed(4);
    for (const bool masked : {false, true}) {
      const Dropped y = dropped(at::randn({40, 96}).to(at::kBFloat16), masked);
      const at::Tensor a = at::randn({4, 96});
      const at::Tensor low = at::randn({40, 4});
      const at::Tensor update = at::mm(low.to(at::kDouble), a.to(at::kDouble)) * 0.5;
      const at::Tensor want = y.data_TI.to(at::kDouble) + (masked ? update * y.mask_TI * y.keep_scale : update);
      cuda::project_up(low, a, 0.5, y);
      // Half a unit in the last place of bfloat16, and a little for the sixteen bits of the update.
      EXPECT_TRUE(y.data_TI.to(at::kDouble).allclose(want, 0.5 / 128 + 1e-4, 1e-3));
    }
  });
}

TEST(CudaBodies, ListsOfManyTensorsAndDtypesReachEveryElement) {
  with_cuda_bodies([] {
    std::vector<AdamwTensors> together;
    std::vector<AdamwTensors> alone;
    for (int64_t i = 0; i < 70; ++i) {
      const auto dtype = i % 9 == 0 ? at::kFloat : at::kBFloat16;
      const int64_t count = i == 3 ? 20000 : i;
      const auto tensor = [&] { return at::randn({count}).to(dtype); };
      together.push_back({tensor(), tensor(), tensor(), tensor().abs(), i % 2 == 0});
      const AdamwTensors& t = together.back();
      alone.push_back({t.parameter.clone(), t.gradient, t.first_moment.clone(), t.second_moment.clone(), t.decay});
    }
    const AdamwScalars scalars{.learning_rate = 0.1, .weight_decay = 0.3, .step = 2};
    adamw_step(together, scalars, {.scale = 0.5});
    for (size_t i = 0; i < alone.size(); ++i) {
      adamw_step({alone[i]}, scalars, {.scale = 0.5});
      EXPECT_TRUE(together[i].parameter.equal(alone[i].parameter)) << "tensor " << i;
      EXPECT_TRUE(together[i].second_moment.equal(alone[i].second_moment)) << "tensor " << i;
    }
  });
}

/// Everything that combines values of several threads, and everything that only splits work among them.
Tensors outputs_of_all(const Tensors& in, at::ScalarType dtype) {
  return testing::run(
      [](const Tensors& x) -> Tensors {
        const auto [sum, normed] = add_rms_norm(x[0], swiglu(x[0], x[1]), x[2], 1e-5, 0.5);
        const auto [second, layer_normed] = add_layer_norm(sum, engine::gelu(normed), x[2], x[2], 1e-5);
        const at::Tensor low =
            lora_linear(add_scaled(second, layer_normed, 0.3), x[3], std::nullopt, {x[4], x[5], 1.0, 0.0});
        const at::Tensor positions = at::arange(0, x[0].size(0), 2, at::kLong);
        const at::Tensor targets = positions.remainder(x[3].size(0));
        return {normed, linear_cross_entropy_sum(low, x[3], positions, targets, 2.0),
                linear_cross_entropy_sum(low, x[3], positions, targets, 2.0, {}, 1.0, 0.2)};
      },
      in, {true, true, true, true, true, true}, dtype);
}

TEST(CudaBodies, TeamsOfAnySizeAgree) {
  for (const int64_t width : {96, 33}) {
    at::manual_seed(6);
    const Tensors inputs = {at::randn({9, width}, at::kDouble),       at::randn({9, width}, at::kDouble),
                            at::randn({width}, at::kDouble),          at::randn({width, width}, at::kDouble) * 0.2,
                            at::randn({4, width}, at::kDouble) * 0.2, at::randn({width, 4}, at::kDouble)};
    for (const auto& precision : kPrecisions) {
      Tensors one;
      with_cuda_bodies([&] { one = outputs_of_all(inputs, precision.dtype); }, 1);
      for (const int64_t threads : {2, 5}) {
        with_cuda_bodies(
            [&] {
              const Tensors several = outputs_of_all(inputs, precision.dtype);
              for (size_t i = 0; i < one.size(); ++i) {
                EXPECT_LT(relative_error(several[i], one[i]), precision.tolerance) << "result " << i;
              }
            },
            threads);
      }
    }
  }
}

}  // namespace
}  // namespace assay::engine::cuda
