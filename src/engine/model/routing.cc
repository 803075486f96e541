#include "engine/model/routing.h"

#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Where the rows of each of the experts begin among all that are sorted by expert, and their number.
std::vector<int64_t> begins_of(const at::Tensor& choices_E) {
  std::vector<int64_t> begins = {0};
  const at::Tensor counts = choices_E.to(at::kCPU);
  for (int64_t e = 0; e < counts.size(0); ++e) {
    begins.push_back(begins.back() + counts.const_data_ptr<int64_t>()[e]);
  }
  return begins;
}

/// The most rows that `own` experts may have, in equal parts: no token chooses an expert twice.
std::vector<int64_t> most_begins(int64_t tokens, int64_t per_token, int64_t own) {
  std::vector<int64_t> begins;
  for (int64_t e = 0; e <= own; ++e) {
    begins.push_back(tokens * std::min(per_token, own) * e / own);
  }
  return begins;
}

at::Tensor gather(const at::Tensor& x_TH, const at::Tensor& slots_S, int64_t per_token) {
  return x_TH.index_select(0, slots_S.div(per_token, "floor"));
}

at::Tensor scatter(const at::Tensor& y_SH, const at::Tensor& slots_S, int64_t tokens, int64_t per_token) {
  const at::Tensor choices = at::zeros({tokens * per_token, y_SH.size(1)}, y_SH.options());
  return choices.index_copy_(0, slots_S, y_SH).view({tokens, per_token, -1}).sum(1);
}

/// Rows of tokens, or sums of rows; each is the other's backward.
struct MoveRows : torch::autograd::Function<MoveRows> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& rows, const at::Tensor& slots_S, int64_t tokens,
                            int64_t per_token, bool to_rows) {
    ctx->save_for_backward({slots_S});
    ctx->saved_data["tokens"] = tokens;
    ctx->saved_data["per_token"] = per_token;
    ctx->saved_data["to_rows"] = to_rows;
    return move(rows, slots_S, tokens, per_token, to_rows);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {move(grads[0], ctx->get_saved_variables()[0], ctx->saved_data["tokens"].toInt(),
                 ctx->saved_data["per_token"].toInt(), !ctx->saved_data["to_rows"].toBool()),
            {},
            {},
            {},
            {}};
  }

  static at::Tensor move(const at::Tensor& rows, const at::Tensor& slots_S, int64_t tokens, int64_t per_token,
                         bool to_rows) {
    return to_rows ? gather(rows, slots_S, per_token) : scatter(rows, slots_S, tokens, per_token);
  }
};

}  // namespace

Routing route(const at::Tensor& logits_TE, int64_t per_token, int64_t first, int64_t own) {
  const auto [chosen_Tk, experts_Tk] = at::topk(logits_TE.to(at::kFloat), per_token, -1);
  const at::Tensor expert_of_choice = experts_Tk.flatten();
  const at::Tensor sorted = expert_of_choice.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  const bool is_shape = logits_TE.is_meta();
  Routing routing;
  routing.choices_E = is_shape ? at::empty({logits_TE.size(1)}, expert_of_choice.options())
                               : at::bincount(expert_of_choice, {}, logits_TE.size(1));
  const std::vector<int64_t> begins =
      is_shape ? most_begins(logits_TE.size(0), per_token, own) : begins_of(routing.choices_E);
  const auto begin = begins.begin() + (is_shape ? 0 : first);
  routing.tokens = logits_TE.size(0);
  routing.per_token = per_token;
  for (auto it = begin; it <= begin + own; ++it) {
    routing.offsets.push_back(*it - *begin);
  }
  routing.slots_S = sorted.narrow(0, *begin, routing.offsets.back());
  routing.weights_S = at::softmax(chosen_Tk, -1).flatten().index_select(0, routing.slots_S);
  return routing;
}

at::Tensor rows_of_tokens(const at::Tensor& x_TH, const Routing& routing) {
  return MoveRows::apply(x_TH, routing.slots_S, routing.tokens, routing.per_token, true);
}

at::Tensor tokens_of_rows(const at::Tensor& y_SH, const Routing& routing) {
  return MoveRows::apply(y_SH, routing.slots_S, routing.tokens, routing.per_token, false);
}

}  // namespace assay::engine
