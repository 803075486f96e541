#include <ATen/core/grad_mode.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/kernels/rows_to_visit.h"
#include "engine/kernels/state_space.h"

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The arguments of a chunk of L tokens, in float32.
struct Chunk {
  at::Tensor xbc_LC;
  at::Tensor step_LN;
  StateSpaceParameters parameters;
};

/// What a chunk's output and its last state are both made of.
struct ChunkTerms {
  at::Tensor x_NLP;
  at::Tensor scaled_NLP;  ///< times the step
  at::Tensor decay_NL;    ///< log of what is left, after each token, of the state before the chunk
  at::Tensor b_GLS, c_GLS;
};

ChunkTerms terms_of(const Chunk& chunk, const StateSpace& s) {
  const int64_t length = chunk.step_LN.size(0);
  const int64_t inner = s.heads * s.head_dim;
  const auto parts = chunk.xbc_LC.split_with_sizes({inner, s.groups * s.state, s.groups * s.state}, 1);
  at::Tensor step_LN = at::softplus(chunk.step_LN + chunk.parameters.step_bias_N);
  if (s.shortest_step > 0) {
    step_LN = step_LN.clamp_min(s.shortest_step);
  }
  if (std::isfinite(s.longest_step)) {
    step_LN = step_LN.clamp_max(s.longest_step);
  }
  const at::Tensor step_NL = step_LN.t();
  ChunkTerms terms;
  terms.x_NLP = parts[0].view({length, s.heads, s.head_dim}).transpose(0, 1);
  terms.scaled_NLP = terms.x_NLP * step_NL.unsqueeze(-1);
  // Sums over the tokens so far, as a product.
  const at::Tensor so_far_LL = at::ones({length, length}, step_NL.options()).triu();
  terms.decay_NL = at::mm(step_NL * -chunk.parameters.decay_log_N.exp().unsqueeze(-1), so_far_LL);
  terms.b_GLS = parts[1].view({length, s.groups, s.state}).transpose(0, 1);
  terms.c_GLS = parts[2].view({length, s.groups, s.state}).transpose(0, 1);
  return terms;
}

/// [G, heads of a group, ...] of [N, ...], and back.
at::Tensor by_group(const at::Tensor& x, const StateSpace& s) {
  return x.unflatten(0, {s.groups, s.heads / s.groups});
}

/// [L, N P].
at::Tensor output_of(const ChunkTerms& t, const at::Tensor& state_NPS, const at::Tensor& skip_N, const StateSpace& s) {
  const int64_t length = t.decay_NL.size(1);
  const at::Tensor is_later = at::ones({length, length}, t.decay_NL.options().dtype(at::kBool)).triu(1);
  const at::Tensor left_NLL =
      (t.decay_NL.unsqueeze(-1) - t.decay_NL.unsqueeze(-2)).masked_fill(is_later, -INFINITY).exp();
  const at::Tensor scores_GLL = at::bmm(t.c_GLS, t.b_GLS.transpose(1, 2));
  const at::Tensor weights_NLL = (by_group(left_NLL, s) * scores_GLL.unsqueeze(1)).flatten(0, 1);
  const at::Tensor state_GSX = by_group(state_NPS, s).flatten(1, 2).transpose(1, 2);
  const at::Tensor of_state_NLP = at::bmm(t.c_GLS, state_GSX)
                                      .view({s.groups, length, s.heads / s.groups, s.head_dim})
                                      .transpose(1, 2)
                                      .flatten(0, 1);
  const at::Tensor y_NLP = at::bmm(weights_NLL, t.scaled_NLP) + of_state_NLP * t.decay_NL.exp().unsqueeze(-1) +
                           t.x_NLP * skip_N.view({-1, 1, 1});
  return y_NLP.transpose(0, 1).reshape({length, -1});
}

/// The state after the chunk.
at::Tensor state_after(const ChunkTerms& t, const at::Tensor& state_NPS, const StateSpace& s) {
  const at::Tensor last_N1 = t.decay_NL.narrow(1, t.decay_NL.size(1) - 1, 1);
  const at::Tensor left_NLP = t.scaled_NLP * (last_N1 - t.decay_NL).exp().unsqueeze(-1);
  const at::Tensor left_GXL = by_group(left_NLP.transpose(1, 2), s).flatten(1, 2);
  const at::Tensor added_NPS = at::bmm(left_GXL, t.b_GLS).view({s.heads, s.head_dim, s.state});
  return state_NPS * last_N1.exp().unsqueeze(-1) + added_NPS;
}

/// The scan of one call: its arguments with what is cut out of them.
class Scan {
 public:
  Scan(at::Tensor xbc_TC, at::Tensor step_TN, const StateSpaceParameters& parameters, const StateSpace& space,
       std::vector<int64_t> row_offsets)
      : xbc_TC_(std::move(xbc_TC)), step_TN_(std::move(step_TN)), space_(space), row_offsets_(std::move(row_offsets)) {
    parameters_ = {parameters.step_bias_N.to(at::kFloat), parameters.decay_log_N.to(at::kFloat),
                   parameters.skip_N.to(at::kFloat)};
  }

  at::Tensor forward() const {
    const at::Tensor y_TX = at::empty({xbc_TC_.size(0), space_.heads * space_.head_dim}, xbc_TC_.options());
    for (const size_t row : rows_to_visit(xbc_TC_, row_offsets_)) {
      forward_row(row, no_state(), y_TX);
    }
    return y_TX;
  }

  /// Of one row that goes on from `state_NPS` (undefined: begins), which becomes the state after it.
  at::Tensor forward_on(at::Tensor& state_NPS) const {
    const at::Tensor y_TX = at::empty({xbc_TC_.size(0), space_.heads * space_.head_dim}, xbc_TC_.options());
    state_NPS = forward_row(0, state_NPS.defined() ? state_NPS : no_state(), y_TX);
    return y_TX;
  }

  /// Of xbc, step, and the parameters, these in float32.
  variable_list backward(const at::Tensor& dy_TX) {
    const at::Tensor dxbc_TC = at::empty(xbc_TC_.sizes(), xbc_TC_.options());
    const at::Tensor dstep_TN = at::empty(step_TN_.sizes(), step_TN_.options());
    for (at::Tensor& sum : dparameters_) {
      sum = at::zeros({space_.heads}, parameters_.skip_N.options());
    }
    for (const size_t row : rows_to_visit(xbc_TC_, row_offsets_)) {
      const std::vector<at::Tensor> states = states_of(row);
      at::Tensor dstate_NPS = no_state();
      for (size_t i = xbc_TC_.is_meta() ? 1 : states.size(); i-- > 0;) {
        const int64_t begin = row_offsets_[row] + static_cast<int64_t>(i) * kScanChunk;
        const int64_t length = std::min(kScanChunk, row_offsets_[row + 1] - begin);
        const variable_list grads =
            backward_of_chunk(cut(begin, length), states[i], dy_TX.narrow(0, begin, length), dstate_NPS);
        dxbc_TC.narrow(0, begin, length).copy_(grads[0]);
        dstep_TN.narrow(0, begin, length).copy_(grads[1]);
        dstate_NPS = grads[2];
      }
    }
    return {dxbc_TC, dstep_TN, dparameters_[0], dparameters_[1], dparameters_[2]};
  }

 private:
  /// Writes the row's part of `y_TX`; returns the state after it.
  at::Tensor forward_row(size_t row, at::Tensor state_NPS, const at::Tensor& y_TX) const {
    for (int64_t begin = row_offsets_[row]; begin < end_of_visit(row); begin += kScanChunk) {
      const int64_t length = std::min(kScanChunk, row_offsets_[row + 1] - begin);
      const ChunkTerms terms = terms_of(cut(begin, length), space_);
      y_TX.narrow(0, begin, length).copy_(output_of(terms, state_NPS, parameters_.skip_N, space_));
      state_NPS = state_after(terms, state_NPS, space_);
    }
    return state_NPS;
  }

  /// Of shapes, one chunk takes what each does.
  int64_t end_of_visit(size_t row) const { return xbc_TC_.is_meta() ? row_offsets_[row] + 1 : row_offsets_[row + 1]; }

  at::Tensor no_state() const {
    return at::zeros({space_.heads, space_.head_dim, space_.state}, parameters_.skip_N.options());
  }

  Chunk cut(int64_t begin, int64_t length) const {
    return {xbc_TC_.narrow(0, begin, length).to(at::kFloat), step_TN_.narrow(0, begin, length).to(at::kFloat),
            parameters_};
  }

  /// Before each chunk of a row.
  std::vector<at::Tensor> states_of(size_t row) const {
    std::vector<at::Tensor> states = {no_state()};
    for (int64_t begin = row_offsets_[row]; begin + kScanChunk < row_offsets_[row + 1]; begin += kScanChunk) {
      states.push_back(xbc_TC_.is_meta()
                           ? no_state()
                           : state_after(terms_of(cut(begin, kScanChunk), space_), states.back(), space_));
    }
    return states;
  }

  /// Of the chunk's xbc, step and state; those of the parameters are added up.
  variable_list backward_of_chunk(const Chunk& chunk, const at::Tensor& state_NPS, const at::Tensor& dy_LX,
                                  const at::Tensor& dstate_NPS) {
    const at::AutoGradMode with_grad(true);
    const auto leaf = [](const at::Tensor& value) { return value.detach().requires_grad_(); };
    const Chunk again{leaf(chunk.xbc_LC),
                      leaf(chunk.step_LN),
                      {leaf(parameters_.step_bias_N), leaf(parameters_.decay_log_N), leaf(parameters_.skip_N)}};
    const at::Tensor state = leaf(state_NPS);
    const ChunkTerms terms = terms_of(again, space_);
    const variable_list outputs = {output_of(terms, state, again.parameters.skip_N, space_),
                                   state_after(terms, state, space_)};
    const variable_list inputs = {
        again.xbc_LC,           again.step_LN, state, again.parameters.step_bias_N, again.parameters.decay_log_N,
        again.parameters.skip_N};
    variable_list grads = torch::autograd::grad(outputs, inputs, {dy_LX.to(at::kFloat), dstate_NPS});
    for (size_t i = 0; i < dparameters_.size(); ++i) {
      dparameters_[i].add_(grads[3 + i]);
    }
    return grads;
  }

  at::Tensor xbc_TC_, step_TN_;
  StateSpaceParameters parameters_;  ///< float32
  StateSpace space_;
  std::vector<int64_t> row_offsets_;
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

at::Tensor scan_on(const at::Tensor& xbc_TC, const at::Tensor& step_TN, const StateSpaceParameters& parameters,
                   const StateSpace& space, at::Tensor& state_NPS) {
  return Scan(xbc_TC, step_TN, parameters, space, {0, xbc_TC.size(0)}).forward_on(state_NPS);
}

}  // namespace assay::engine
