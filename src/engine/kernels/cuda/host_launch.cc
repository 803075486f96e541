// The launches of cuda_kernels.h on the host: a team of threads runs the same bodies that nvcc compiles for the GPU.
#include "engine/kernels/cuda/host_launch.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <barrier>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/kernels/cuda/cuda_kernels.h"
#include "engine/kernels/cuda/elementwise_bodies.h"
#include "engine/kernels/cuda/gelu_bodies.h"
#include "engine/kernels/cuda/launch_rules.h"
#include "engine/kernels/cuda/layer_norm_bodies.h"
#include "engine/kernels/cuda/loss_bodies.h"
#include "engine/kernels/cuda/norm_bodies.h"
#include "engine/kernels/cuda/optimizer_bodies.h"

namespace assay::engine::cuda {
namespace {

int64_t team_size = 1;

/// A thread's view of its team.
class HostTeam {
 public:
  struct Shared {
    explicit Shared(int64_t size) : barrier(size), values(static_cast<size_t>(size)) {}
    std::barrier<> barrier;
    std::vector<float> values;
  };

  HostTeam(Shared& shared, int64_t rank) : shared_(shared), rank_(rank) {}

  int64_t rank() const { return rank_; }
  int64_t size() const { return static_cast<int64_t>(shared_.values.size()); }
  float sum(float value) const {
    return combine(value, [](const std::vector<float>& all) { return std::accumulate(all.begin(), all.end(), 0.0F); });
  }
  float max(float value) const {
    return combine(value, [](const std::vector<float>& all) { return *std::max_element(all.begin(), all.end()); });
  }
  void wait() const { shared_.barrier.arrive_and_wait(); }

 private:
  template <typename Operation>
  float combine(float value, const Operation& operation) const {
    shared_.values[static_cast<size_t>(rank_)] = value;
    wait();
    const float result = operation(shared_.values);
    wait();
    return result;
  }

  Shared& shared_;
  int64_t rank_;
};

/// Runs body(team) on every thread of a team.
template <typename Body>
void run_team(const Body& body) {
  HostTeam::Shared shared(team_size);
  std::vector<std::thread> threads;
  for (int64_t rank = 1; rank < team_size; ++rank) {
    threads.emplace_back([&, rank] {
      HostTeam team(shared, rank);
      body(team);
    });
  }
  HostTeam team(shared, 0);
  body(team);
  for (std::thread& thread : threads) {
    thread.join();
  }
}

template <typename Body>
void with_type(Dtype dtype, const Body& body) {
  switch (dtype) {
    case Dtype::kFloat32:
      return body(float{});
    case Dtype::kBfloat16:
      return body(c10::BFloat16{});
    case Dtype::kFloat16:
      return body(c10::Half{});
  }
}

/// Calls body(T{}, Lanes<n>) with what the launch on the GPU would choose.
template <typename Task, typename Body>
void with_lanes(const Task& task, Dtype dtype, const Body& body) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    in_packs<T>(task) ? body(zero, Lanes<kLanesOf<T>>{}) : body(zero, Lanes<1>{});
  });
}

/// Calls body(T{}, R{}, Lanes<n>): the residual stream is of the dtype T or float32.
template <typename Task, typename Body>
void with_lanes_between(const Task& task, Dtype dtype, Dtype residual, const Body& body) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto choose = [&](auto wide) {
      using R = decltype(wide);
      in_packs<T, R>(task) ? body(zero, wide, Lanes<kLanesOf<T>>{}) : body(zero, wide, Lanes<1>{});
    };
    residual == dtype ? choose(zero) : choose(float{});
  });
}

/// Runs body(tensor, stretch, team, block) for every block of a list.
template <typename Body>
void for_blocks(const TensorList& list, const Body& body) {
  run_team([&](HostTeam& team) {
    for (int block = 0; block < blocks_of(list); ++block) {
      const int tensor = tensor_of_block(list, block);
      body(list.tensors[tensor], stretch_of_block(list, tensor, block), team, block);
    }
  });
}

template <typename Types>
void run_adamw(const TensorList& list, const UpdateScalars& scalars) {
  for_blocks(list, [&](const UpdateTensor& tensor, const Stretch& stretch, HostTeam& team, int) {
    in_packs<Types>(list) ? adamw<Types, Types::kLanes>(tensor, scalars, stretch, team)
                          : adamw<Types, 1>(tensor, scalars, stretch, team);
  });
}

}  // namespace

void set_host_team(int64_t threads) {
  team_size = threads;
}

void check_launches() {}

void launch(const NormForward& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) {
      for (int64_t row = 0; row < task.rows; ++row) {
        norm_forward_row<decltype(zero), decltype(lanes)::kCount>(task, row, team);
      }
    });
  });
}

/// As the kernel: part p has rows p, p + parts, ...
void launch(const NormBackward& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) {
      for (int64_t part = 0; part < task.parts; ++part) {
        float* sums = task.grad_weight == nullptr ? nullptr : task.grad_weight + part * task.width;
        if (sums != nullptr && team.rank() == 0) {
          std::fill_n(sums, task.width, 0.0F);
        }
        team.wait();
        for (int64_t row = part; row < task.rows; row += task.parts) {
          norm_backward_row<decltype(zero), decltype(lanes)::kCount>(task, row, sums, team);
        }
      }
    });
  });
}

void launch(const LayerNormForward& task, Dtype dtype, Dtype residual, Stream) {
  with_lanes_between(task, dtype, residual, [&](auto zero, auto wide, auto lanes) {
    run_team([&](HostTeam& team) {
      for (int64_t row = 0; row < task.rows; ++row) {
        layer_norm_forward_row<decltype(zero), decltype(wide), decltype(lanes)::kCount>(task, row, team);
      }
    });
  });
}

void launch(const LayerNormBackward& task, Dtype dtype, Dtype residual, Stream) {
  with_lanes_between(task, dtype, residual, [&](auto zero, auto wide, auto lanes) {
    run_team([&](HostTeam& team) {
      for (int64_t part = 0; part < task.parts; ++part) {
        float* sums = task.grad_affine == nullptr ? nullptr : task.grad_affine + 2 * part * task.width;
        if (sums != nullptr && team.rank() == 0) {
          std::fill_n(sums, 2 * task.width, 0.0F);
        }
        team.wait();
        for (int64_t row = part; row < task.rows; row += task.parts) {
          layer_norm_backward_row<decltype(zero), decltype(wide), decltype(lanes)::kCount>(task, row, sums, team);
        }
      }
    });
  });
}

void launch(const GeluForward& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) { gelu_forward<decltype(zero), decltype(lanes)::kCount>(task, team); });
  });
}

void launch(const GeluBackward& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) { gelu_backward<decltype(zero), decltype(lanes)::kCount>(task, team); });
  });
}

void launch(const SwigluForward& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) { swiglu_forward<decltype(zero), decltype(lanes)::kCount>(task, team); });
  });
}

void launch(const SwigluBackward& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) { swiglu_backward<decltype(zero), decltype(lanes)::kCount>(task, team); });
  });
}

void launch(const AddScaled& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) { add_scaled<decltype(zero), decltype(lanes)::kCount>(task, team); });
  });
}

void launch(const AddMasked& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) { add_masked<decltype(zero), decltype(lanes)::kCount>(task, team); });
  });
}

void launch(const Rotate& task, Dtype dtype, Stream) {
  with_lanes(task, dtype, [&](auto zero, auto lanes) {
    run_team([&](HostTeam& team) {
      for (int64_t token = 0; token < task.tokens; ++token) {
        rotate_token<decltype(zero), decltype(lanes)::kCount>(task, token, team);
      }
    });
  });
}

void launch(const Split& task, Dtype dtype, Stream) {
  with_type(dtype, [&](auto zero) { run_team([&](HostTeam& team) { split<decltype(zero)>(task, team); }); });
}

void launch(const Dequantize& task, Dtype dtype, Stream) {
  with_type(dtype, [&](auto zero) { run_team([&](HostTeam& team) { dequantize<decltype(zero)>(task, team); }); });
}

void launch(const EmbeddingSums& task, Dtype dtype, Stream) {
  with_type(dtype, [&](auto zero) { run_team([&](HostTeam& team) { embedding_sums<decltype(zero)>(task, team); }); });
}

void launch(const DropoutMaskTask& task, Stream) {
  run_team([&](HostTeam& team) { dropout_mask(task, counters_of_token(task), team); });
}

void launch(const CrossEntropy& task, Dtype dtype, Stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    run_team([&](HostTeam& team) {
      for (int64_t row = 0; row < task.rows; ++row) {
        cross_entropy_row<T, kLanesOf<T>>(task, row, team);
      }
    });
  });
}

void launch_adamw(const TensorList& list, const UpdateScalars& scalars, const AdamwDtypes& dtypes, Stream) {
  with_type(dtypes.copy, [&](auto zero) {
    with_update_types<decltype(zero)>(dtypes, [&](auto types) { run_adamw<decltype(types)>(list, scalars); });
  });
}

void launch_sgd(const TensorList& list, const UpdateScalars& scalars, Dtype dtype, Stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    for_blocks(list, [&](const UpdateTensor& tensor, const Stretch& stretch, HostTeam& team, int) {
      in_packs<UpdateTypes<T, T, T, T>>(list) ? sgd<T, kLanesOf<T>>(tensor, scalars, stretch, team)
                                              : sgd<T, 1>(tensor, scalars, stretch, team);
    });
  });
}

void launch_gradient_sums(const TensorList& list, double* sums, Dtype dtype, Stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    for_blocks(list, [&](const UpdateTensor& tensor, const Stretch& stretch, HostTeam& team, int block) {
      const BlockSums of_block = in_packs<UpdateTypes<T, T, T, T>>(list)
                                     ? gradient_sums<T, kLanesOf<T>>(tensor, stretch, team)
                                     : gradient_sums<T, 1>(tensor, stretch, team);
      if (team.rank() == 0) {
        sums[2 * block] = of_block.squares;
        sums[2 * block + 1] = of_block.non_finite;
      }
    });
  });
}

}  // namespace assay::engine::cuda
