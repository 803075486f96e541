// A mixture of experts whose experts may lie on several ranks, routed by a fixed rule.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/kernels/ops.h"
#include "engine/model/unit.h"

namespace assay::engine::testing {

/// Which experts a rank holds: an equal part of them, in order of rank.
struct ExpertPlace {
  Communicator* ranks = nullptr;  ///< that divide the experts; null: this one has all
  bool first_holder = true;       ///< has the initial values that the engine gives to the other holders

  int64_t rank() const { return ranks == nullptr ? 0 : ranks->rank(); }
  int64_t size() const { return ranks == nullptr ? 1 : ranks->size(); }
};

inline at::Tensor gather_rows(Communicator& ranks, const at::Tensor& rows) {
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] *= ranks.size();
  const at::Tensor all = at::empty(shape, rows.options());
  ranks.all_gather(all.view(-1), rows.contiguous().view(-1), "tokens")->wait();
  return all;
}

inline at::Tensor sum_own_rows(Communicator& ranks, const at::Tensor& rows) {
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] /= ranks.size();
  const at::Tensor own = at::empty(shape, rows.options());
  ranks.reduce_scatter(own.view(-1), rows.clone(at::MemoryFormat::Contiguous).view(-1), ReduceOp::kSum, "tokens")
      ->wait();
  return own;
}

/// The tokens of all ranks, or the sums of what all ranks have of this rank's; each is the other's backward.
struct ExchangeTokens : torch::autograd::Function<ExchangeTokens> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& rows, int64_t ranks, bool gather) {
    ctx->saved_data["ranks"] = ranks;
    ctx->saved_data["gather"] = gather;
    return exchange(*reinterpret_cast<Communicator*>(ranks), rows, gather);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    auto& ranks = *reinterpret_cast<Communicator*>(ctx->saved_data["ranks"].toInt());
    return {exchange(ranks, grads[0], !ctx->saved_data["gather"].toBool()), {}, {}};
  }
  static at::Tensor exchange(Communicator& ranks, const at::Tensor& rows, bool gather) {
    return gather ? gather_rows(ranks, rows) : sum_own_rows(ranks, rows);
  }
};

/// The MLPs of one layer; each sees the tokens of all ranks that are routed to it.
class Experts {
 public:
  Experts(int64_t layer, int64_t count, int64_t hidden, const ExpertPlace& place) : place_(place) {
    const int64_t own = count / place.size();
    for (int64_t e = place.rank() * own; e < (place.rank() + 1) * own; ++e) {
      const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(100 * layer + e));
      const auto make = [&](at::IntArrayRef shape) {
        const double scale = place.first_holder ? 0.2 : 0;
        return (at::randn(shape, generator, at::kFloat) * scale).requires_grad_();
      };
      experts_.push_back({e, make({2 * hidden, hidden}), make({2 * hidden, hidden}), make({hidden, 2 * hidden})});
    }
  }

  void list(const std::string& prefix, ParameterUnit& unit) {
    for (Expert& expert : experts_) {
      const std::string name = fmt::format("{}experts.{}.", prefix, expert.index);
      for (const auto& [part, tensor] : {std::pair{"gate.weight", &expert.gate_IH},
                                         {"up.weight", &expert.up_IH},
                                         {"down.weight", &expert.down_HI}}) {
        unit.parameters.push_back({.name = name + part, .tensor = tensor, .expert = true});
      }
    }
  }

  /// Experts that no rank sends a token are left out, so that they get no gradient.
  at::Tensor forward(const at::Tensor& x_TH, const at::Tensor& expert_T) const {
    const at::Tensor x = exchange(x_TH, true);
    const at::Tensor to = place_.ranks == nullptr ? expert_T : gather_rows(*place_.ranks, expert_T.to(x.scalar_type()));
    at::Tensor sum = x * 0;  // joined to the tokens on every rank: all of them take part in backward
    for (const Expert& expert : experts_) {
      const at::Tensor rows = (to == expert.index).nonzero().view(-1);
      if (rows.numel() > 0) {
        const at::Tensor own = x.index_select(0, rows);
        const at::Tensor inner = swiglu(engine::linear(own, expert.gate_IH, {}), engine::linear(own, expert.up_IH, {}));
        sum = sum.index_add(0, rows, engine::linear(inner, expert.down_HI, {}));
      }
    }
    return exchange(sum, false);
  }

 private:
  struct Expert {
    int64_t index;
    at::Tensor gate_IH, up_IH, down_HI;
  };

  at::Tensor exchange(const at::Tensor& rows, bool gather) const {
    return place_.ranks == nullptr ? rows
                                   : ExchangeTokens::apply(rows, reinterpret_cast<int64_t>(place_.ranks), gather);
  }

  ExpertPlace place_;
  std::vector<Expert> experts_;
};

}  // namespace assay::engine::testing
