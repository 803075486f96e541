#include <ATen/core/grad_mode.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/kernels/state_space.h"

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Where chunks of as many tokens each lie that are computed at once.
struct Place {
  int64_t begin = 0;
  int64_t tokens = 0;
  int64_t length = 0;  ///< of each of the K chunks: L
};

/// Their arguments, in float32.
struct Block {
  int64_t length = 0;
  at::Tensor xbc_TC;
  at::Tensor step_TN;
  at::Tensor begins_T;  ///< whether a row begins with the token
  StateSpaceParameters parameters;
};

/// What the outputs and the states of the chunks are both made of.
struct BlockTerms {
  at::Tensor x_KNLP;
  at::Tensor scaled_KNLP;  ///< times the step
  at::Tensor decay_KNL;    ///< log of what each token leaves of the state before it
  at::Tensor left_KNL;     ///< what is left, after each token, of the state before its chunk
  at::Tensor b_KGLS, c_KGLS;
};

/// Its exponential is zero, but no zero times it is NaN: what a row's first token leaves of another row's state.
constexpr double kNothingLeft = -1e4;

at::Tensor ones(int64_t length, const at::Tensor& like) {
  return at::ones({length, length}, like.options());
}

at::Tensor steps_of(const Block& block, const StateSpace& s) {
  at::Tensor step_TN = at::softplus(block.step_TN + block.parameters.step_bias_N);
  if (s.shortest_step > 0) {
    step_TN = step_TN.clamp_min(s.shortest_step);
  }
  return std::isfinite(s.longest_step) ? step_TN.clamp_max(s.longest_step) : step_TN;
}

BlockTerms terms_of(const Block& block, const StateSpace& s) {
  const int64_t inner = s.heads * s.head_dim;
  const auto parts = block.xbc_TC.split_with_sizes({inner, s.groups * s.state, s.groups * s.state}, 1);
  // [K, heads or groups, L, width] of [T, heads or groups times width].
  const auto by_chunk = [&](const at::Tensor& part, int64_t width) {
    return part.reshape({-1, block.length, part.size(1) / width, width}).transpose(1, 2);
  };
  const at::Tensor step_KNL = by_chunk(steps_of(block, s), 1).squeeze(-1);
  const at::Tensor begins_K1L = block.begins_T.view({-1, 1, block.length});
  BlockTerms terms;
  terms.x_KNLP = by_chunk(parts[0], s.head_dim);
  terms.scaled_KNLP = terms.x_KNLP * step_KNL.unsqueeze(-1);
  terms.decay_KNL =
      (step_KNL * -block.parameters.decay_log_N.exp().unsqueeze(-1)).masked_fill(begins_K1L, kNothingLeft);
  terms.left_KNL = at::matmul(terms.decay_KNL, ones(block.length, terms.decay_KNL).triu()).exp();
  terms.b_KGLS = by_chunk(parts[1], s.state);
  terms.c_KGLS = by_chunk(parts[2], s.state);
  return terms;
}

/// [K, G, heads of a group, ...] of [K, N, ...].
at::Tensor by_group(const at::Tensor& x, const StateSpace& s) {
  return x.unflatten(1, {s.groups, s.heads / s.groups});
}

/// What is left at each token (the row) of what the chunk's others added. In float64: between sums from the chunk's
/// beginning, and between those of their gradients, most of the numbers cancels.
at::Tensor left_between(const at::Tensor& decay_KNL) {
  const int64_t length = decay_KNL.size(2);
  const at::Tensor exact_KNL = decay_KNL.to(at::kDouble);
  const at::Tensor so_far_KNL = at::matmul(exact_KNL, ones(length, exact_KNL).triu());
  const at::Tensor is_later = at::ones({length, length}, decay_KNL.options().dtype(at::kBool)).triu(1);
  return (so_far_KNL.unsqueeze(-1) - so_far_KNL.unsqueeze(-2)).to(at::kFloat).masked_fill_(is_later, -INFINITY).exp_();
}

/// [T, N P], from the states before each chunk.
at::Tensor output_of(const BlockTerms& t, const at::Tensor& states_KNPS, const at::Tensor& skip_N,
                     const StateSpace& s) {
  const at::Tensor scores_KGLL = at::matmul(t.c_KGLS, t.b_KGLS.transpose(-1, -2));
  const at::Tensor weights_KNLL = (by_group(left_between(t.decay_KNL), s) * scores_KGLL.unsqueeze(2)).flatten(1, 2);
  const at::Tensor states_KGXS = by_group(states_KNPS, s).flatten(2, 3);
  const at::Tensor of_states_KNLP = at::matmul(t.c_KGLS, states_KGXS.transpose(-1, -2))
                                        .unflatten(-1, {s.heads / s.groups, s.head_dim})
                                        .transpose(2, 3)
                                        .flatten(1, 2);
  const at::Tensor y_KNLP = at::matmul(weights_KNLL, t.scaled_KNLP) + of_states_KNLP * t.left_KNL.unsqueeze(-1) +
                            t.x_KNLP * skip_N.view({-1, 1, 1});
  return y_KNLP.transpose(1, 2).reshape({-1, s.heads * s.head_dim});
}

/// The states before each chunk, and the one after the last.
std::vector<at::Tensor> states_of(const BlockTerms& t, const at::Tensor& before_NPS, const StateSpace& s) {
  const int64_t length = t.decay_KNL.size(2);
  const at::Tensor to_end_KNL = at::matmul(t.decay_KNL, ones(length, t.decay_KNL).tril(-1)).exp();
  const at::Tensor left_KNLP = t.scaled_KNLP * to_end_KNL.unsqueeze(-1);
  const at::Tensor left_KGXL = by_group(left_KNLP.transpose(-1, -2), s).flatten(2, 3);
  const auto added = at::matmul(left_KGXL, t.b_KGLS).view({-1, s.heads, s.head_dim, s.state}).unbind();
  const auto kept = t.left_KNL.select(2, length - 1).unsqueeze(-1).unsqueeze(-1).unbind();
  std::vector<at::Tensor> states = {before_NPS};
  for (size_t chunk = 0; chunk < added.size(); ++chunk) {
    states.push_back(at::addcmul(added[chunk], states.back(), kept[chunk]));
  }
  return states;
}

/// The output of a block, and the state after it.
std::pair<at::Tensor, at::Tensor> scan_block(const Block& block, const at::Tensor& before_NPS, const StateSpace& s) {
  const BlockTerms terms = terms_of(block, s);
  std::vector<at::Tensor> states = states_of(terms, before_NPS, s);
  const at::Tensor after_NPS = states.back();
  states.pop_back();
  return {output_of(terms, at::stack(states), block.parameters.skip_N, s), after_NPS};
}

/// All tokens in blocks of whole chunks, and one of what is left over.
std::vector<Place> places_of(int64_t tokens, const StateSpace& s, c10::Device device) {
  // What is left between tokens of a chunk is the most of it, and stays in the cache of a CPU.
  constexpr int64_t kCacheBytes = 1 << 20;
  const int64_t bytes = s.heads * kScanChunk * kScanChunk * static_cast<int64_t>(sizeof(float));
  const bool is_gpu = !device.is_cpu() && !device.is_meta();
  const int64_t most = is_gpu ? kScanBlock : std::clamp(kCacheBytes / bytes * kScanChunk, kScanChunk, kScanBlock);
  std::vector<Place> places;
  for (int64_t begin = 0; begin < tokens;) {
    const int64_t chunks = std::min(most, tokens - begin) / kScanChunk;
    places.push_back(chunks > 0 ? Place{begin, chunks * kScanChunk, kScanChunk}
                                : Place{begin, tokens - begin, tokens - begin});
    begin += places.back().tokens;
  }
  return places;
}

at::Tensor begins_of(const std::vector<int64_t>& row_offsets, const at::Tensor& like) {
  const at::Tensor begins_T = at::zeros({row_offsets.back()}, at::kBool);
  for (size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    if (row_offsets[row] < row_offsets.back()) {
      begins_T.mutable_data_ptr<bool>()[row_offsets[row]] = true;
    }
  }
  return begins_T.to(like.device());
}

/// The scan of one call: its arguments with what is cut out of them.
class Scan {
 public:
  Scan(at::Tensor xbc_TC, at::Tensor step_TN, const StateSpaceParameters& parameters, const StateSpace& space,
       const std::vector<int64_t>& row_offsets)
      : xbc_TC_(std::move(xbc_TC)),
        step_TN_(std::move(step_TN)),
        begins_T_(begins_of(row_offsets, xbc_TC_)),
        space_(space),
        places_(places_of(xbc_TC_.size(0), space, xbc_TC_.device())) {
    parameters_ = {parameters.step_bias_N.to(at::kFloat), parameters.decay_log_N.to(at::kFloat),
                   parameters.skip_N.to(at::kFloat)};
  }

  at::Tensor forward() const {
    const at::Tensor y_TX = at::empty({xbc_TC_.size(0), space_.heads * space_.head_dim}, xbc_TC_.options());
    at::Tensor state_NPS = no_state();
    for (size_t i = 0; i < places_to_visit(); ++i) {
      const auto [y, after_NPS] = scan_block(cut(places_[i]), state_NPS, space_);
      y_TX.narrow(0, places_[i].begin, places_[i].tokens).copy_(y);
      state_NPS = after_NPS;
    }
    return y_TX;
  }

  /// Of xbc, step, and the parameters, these in float32.
  variable_list backward(const at::Tensor& dy_TX) {
    const at::Tensor dxbc_TC = at::empty(xbc_TC_.sizes(), xbc_TC_.options());
    const at::Tensor dstep_TN = at::empty(step_TN_.sizes(), step_TN_.options());
    for (at::Tensor& sum : dparameters_) {
      sum = at::zeros({space_.heads}, parameters_.skip_N.options());
    }
    const std::vector<at::Tensor> states = states_before();
    at::Tensor dstate_NPS = no_state();
    for (size_t i = places_to_visit(); i-- > 0;) {
      const Place& place = places_[i];
      const variable_list grads =
          backward_of_block(cut(place), states[i], dy_TX.narrow(0, place.begin, place.tokens), dstate_NPS);
      dxbc_TC.narrow(0, place.begin, place.tokens).copy_(grads[0]);
      dstep_TN.narrow(0, place.begin, place.tokens).copy_(grads[1]);
      dstate_NPS = grads[2];
    }
    return {dxbc_TC, dstep_TN, dparameters_[0], dparameters_[1], dparameters_[2]};
  }

 private:
  /// Of shapes, the first block takes what the largest does.
  size_t places_to_visit() const { return xbc_TC_.is_meta() ? 1 : places_.size(); }

  at::Tensor no_state() const {
    return at::zeros({space_.heads, space_.head_dim, space_.state}, parameters_.skip_N.options());
  }

  Block cut(const Place& place) const {
    const auto of_place = [&](const at::Tensor& x) { return x.narrow(0, place.begin, place.tokens); };
    return {place.length, of_place(xbc_TC_).to(at::kFloat), of_place(step_TN_).to(at::kFloat), of_place(begins_T_),
            parameters_};
  }

  /// Before each block.
  std::vector<at::Tensor> states_before() const {
    std::vector<at::Tensor> states = {no_state()};
    for (size_t i = 0; i + 1 < places_.size(); ++i) {
      states.push_back(xbc_TC_.is_meta() ? no_state()
                                         : states_of(terms_of(cut(places_[i]), space_), states.back(), space_).back());
    }
    return states;
  }

  /// Of the block's xbc, step and state; those of the parameters are added up.
  variable_list backward_of_block(const Block& block, const at::Tensor& state_NPS, const at::Tensor& dy_TX,
                                  const at::Tensor& dstate_NPS) {
    const at::AutoGradMode with_grad(true);
    const auto leaf = [](const at::Tensor& value) { return value.detach().requires_grad_(); };
    const Block again{block.length,
                      leaf(block.xbc_TC),
                      leaf(block.step_TN),
                      block.begins_T,
                      {leaf(parameters_.step_bias_N), leaf(parameters_.decay_log_N), leaf(parameters_.skip_N)}};
    const at::Tensor state = leaf(state_NPS);
    const auto [y_TX, after_NPS] = scan_block(again, state, space_);
    const variable_list inputs = {
        again.xbc_TC,           again.step_TN, state, again.parameters.step_bias_N, again.parameters.decay_log_N,
        again.parameters.skip_N};
    variable_list grads = torch::autograd::grad({y_TX, after_NPS}, inputs, {dy_TX.to(at::kFloat), dstate_NPS});
    for (size_t i = 0; i < dparameters_.size(); ++i) {
      dparameters_[i].add_(grads[3 + i]);
    }
    return grads;
  }

  at::Tensor xbc_TC_, step_TN_, begins_T_;
  StateSpaceParameters parameters_;  ///< float32
  StateSpace space_;
  std::vector<Place> places_;
  std::array<at::Tensor, 3> dparameters_;
};

/// The sizes of a call, owned by its graph.
struct ScanSizes : torch::CustomClassHolder {
  StateSpace space;
  std::vector<int64_t> row_offsets;
};

struct SelectiveScan : torch::autograd::Function<SelectiveScan> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& xbc_TC, const at::Tensor& step_TN,
                            const at::Tensor& step_bias_N, const at::Tensor& decay_log_N, const at::Tensor& skip_N,
                            const c10::intrusive_ptr<ScanSizes>& sizes) {
    ctx->save_for_backward({xbc_TC, step_TN, step_bias_N, decay_log_N, skip_N});
    ctx->saved_data["sizes"] = c10::IValue::make_capsule(sizes);
    return Scan(xbc_TC, step_TN, {step_bias_N, decay_log_N, skip_N}, sizes->space, sizes->row_offsets).forward();
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto sizes = c10::static_intrusive_pointer_cast<ScanSizes>(ctx->saved_data["sizes"].toCapsule());
    const variable_list saved = ctx->get_saved_variables();
    Scan scan(saved[0], saved[1], {saved[2], saved[3], saved[4]}, sizes->space, sizes->row_offsets);
    variable_list gradients = scan.backward(grads[0]);
    for (size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = gradients[i].to(saved[i].scalar_type());
    }
    gradients.emplace_back();
    return gradients;
  }
};

}  // namespace

at::Tensor selective_scan(const at::Tensor& xbc_TC, const at::Tensor& step_TN, const StateSpaceParameters& parameters,
                          const StateSpace& space, const std::vector<int64_t>& row_offsets) {
  auto sizes = c10::make_intrusive<ScanSizes>();
  sizes->space = space;
  sizes->row_offsets = row_offsets;
  return SelectiveScan::apply(xbc_TC, step_TN, parameters.step_bias_N, parameters.decay_log_N, parameters.skip_N,
                              sizes);
}

}  // namespace assay::engine
