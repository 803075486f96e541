#include "engine/shard/sequence_parallel.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <string>

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Tokens (T) of which each rank has as many (C), the last ones perhaps fewer.
struct TokenParts {
  Communicator& ranks;
  int64_t tokens;

  int64_t own() const { return (tokens + ranks.size() - 1) / ranks.size(); }

  /// Memory that the ranks reach without a copy.
  at::Tensor allocate(int64_t rows, const at::Tensor& like) const {
    const at::Tensor flat = like.is_meta() ? at::empty({rows * like.size(1)}, like.options())  // of a forecast
                                           : ranks.allocate(rows * like.size(1), like.scalar_type());
    return flat.view({rows, like.size(1)});
  }

  /// x_TH, and zeros up to what the ranks have together.
  at::Tensor padded(const at::Tensor& x_TH) const {
    const at::Tensor all = allocate(own() * ranks.size(), x_TH);
    all.narrow(0, 0, tokens).copy_(x_TH);
    all.narrow(0, tokens, all.size(0) - tokens).zero_();
    return all;
  }

  at::Tensor split(const at::Tensor& x_TH) const {
    const int64_t begin = std::min(tokens, ranks.rank() * own());
    const int64_t count = std::min(tokens - begin, own());
    if (count == own()) {
      return x_TH.narrow(0, begin, count).clone();
    }
    const at::Tensor own_CH = at::zeros({own(), x_TH.size(1)}, x_TH.options());
    own_CH.narrow(0, 0, count).copy_(x_TH.narrow(0, begin, count));
    return own_CH;
  }

  at::Tensor gather(const at::Tensor& x_CH, const std::string& label) const {
    const at::Tensor all = allocate(own() * ranks.size(), x_CH);
    ranks.all_gather(all.view(-1), x_CH.contiguous().view(-1), label)->wait();
    return all.narrow(0, 0, tokens);
  }

  at::Tensor sum(const at::Tensor& part_TH, const std::string& label) const {
    const at::Tensor own_CH = allocate(own(), part_TH);
    ranks.reduce_scatter(own_CH.view(-1), padded(part_TH).view(-1), ReduceOp::kSum, label)->wait();
    return own_CH;
  }
};

/// Leaves backward the parts that forward had.
TokenParts keep(AutogradContext* ctx, int64_t ranks, int64_t tokens, const std::string& label) {
  ctx->saved_data["ranks"] = ranks;
  ctx->saved_data["tokens"] = tokens;
  ctx->saved_data["label"] = label + " gradients";
  return {*reinterpret_cast<Communicator*>(ranks), tokens};
}

TokenParts kept(AutogradContext* ctx) {
  return {*reinterpret_cast<Communicator*>(ctx->saved_data["ranks"].toInt()), ctx->saved_data["tokens"].toInt()};
}

std::string label_of(AutogradContext* ctx) {
  return ctx->saved_data["label"].toStringRef();
}

/// Gathers; backward sums what the ranks made of all tokens.
struct Enter : torch::autograd::Function<Enter> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_CH, int64_t ranks, int64_t tokens,
                            const std::string& label) {
    return keep(ctx, ranks, tokens, label).gather(x_CH, label + " input");
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {kept(ctx).sum(grads[0], label_of(ctx)), {}, {}, {}};
  }
};

/// Sums what the ranks made of all tokens; backward gathers.
struct Sum : torch::autograd::Function<Sum> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& part_TH, int64_t ranks, Output output,
                            const std::string& label) {
    const TokenParts parts = keep(ctx, ranks, part_TH.size(0), label);
    return output == Output::kUnset ? at::empty({parts.own(), part_TH.size(1)}, part_TH.options())
                                    : parts.sum(part_TH, label + " output");
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {kept(ctx).gather(grads[0], label_of(ctx)), {}, {}, {}};
  }
};

/// Backward gathers: each rank has the gradient of its tokens.
struct Split : torch::autograd::Function<Split> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TH, int64_t ranks, const std::string& label) {
    return keep(ctx, ranks, x_TH.size(0), label).split(x_TH);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {kept(ctx).gather(grads[0], label_of(ctx)), {}, {}};
  }
};

/// Gathers; in backward all ranks have the same gradient of all tokens.
struct Join : torch::autograd::Function<Join> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_CH, int64_t ranks, int64_t tokens,
                            const std::string& label) {
    return keep(ctx, ranks, tokens, label).gather(x_CH, label);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {kept(ctx).split(grads[0]), {}, {}, {}};
  }
};

int64_t address(Communicator& ranks) {
  return reinterpret_cast<int64_t>(&ranks);
}

}  // namespace

at::Tensor SequenceParallel::enter_parts(const at::Tensor& input, int64_t tokens, std::string_view label) {
  return tokens == 0 ? TensorParallel::enter_parts(input, tokens, label)
                     : Enter::apply(input, address(ranks()), tokens, std::string(label));
}

at::Tensor SequenceParallel::sum_parts(const at::Tensor& part, int64_t tokens, Output output, std::string_view label) {
  return tokens == 0 ? TensorParallel::sum_parts(part, tokens, output, label)
                     : Sum::apply(part, address(ranks()), output, std::string(label));
}

at::Tensor SequenceParallel::split_tokens(const at::Tensor& x_TH, std::string_view label) {
  return Split::apply(x_TH, address(ranks()), std::string(label));
}

at::Tensor SequenceParallel::join_tokens(const at::Tensor& x_CH, int64_t tokens, std::string_view label) {
  return Join::apply(x_CH, address(ranks()), tokens, std::string(label));
}

std::vector<ParameterUnit> SequenceParallel::units() {
  std::vector<ParameterUnit> units = TensorParallel::units();
  for (ParameterUnit& unit : units) {
    for (ParameterRef& parameter : unit.parameters) {
      parameter.sums_gradient |= parameter.between_blocks && parameter.tensor->requires_grad();
    }
  }
  return units;
}

}  // namespace assay::engine
