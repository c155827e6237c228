// SMF-GIN's loss from the read-outs of graphs, and its gradient at once: a scalar's is known up to a factor.
//
// x = read-outs, some of them dropped; y = x, or (1 - w) x + w times the mean of the two halves' x; z = Σ_l f_l y_l, or y.
// A query's logits are -|z - p| with p the means of the classes' supports, the loss is their mean cross-entropy.
#include "../../native/processor.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>
FSGC_FOR_PROCESSOR
#include "../../native/rows.h"

using namespace fsgc;

namespace {

struct LossCall {
    int64_t graphs, layers, width;  // g, L, d
    int64_t episodes, way, per_class, shots;
    double local_weight;     // w; below 0 there are no halves
    const float* found;      // [g, L d], and with halves those of each graph after them, [g, 2, L d]
    const float* keep;       // the same, factors of dropout; null without
    const float* fusion;     // [L]; null where layers stay side by side
    const int64_t* place;    // [B, N, K + Q], which graph each is
    float* result;           // loss and accuracy
    float* grad_found;       // as `found`
    float* grad_fusion;      // [L]
};

using Rows = std::vector<float>;

FSGC_INLINE void add_scaled(long n, float factor, const float* x, float* y) {
    for (long c = 0; c < n; c += LANES) store(y + c, load(y + c) + factor * load(x + c));
}

FSGC_INLINE float product_of(long n, const float* x, const float* y) {
    Lanes sum{};
    for (long c = 0; c < n; c += LANES) sum += load(x + c) * load(y + c);
    return total(sum);
}

// `function(row, share)` for the rows of read-outs that graph i is made of.
template <class Function>
FSGC_INLINE void each_part(const LossCall& call, long i, Function function) {
    const float w = static_cast<float>(call.local_weight);
    function(i, w < 0 ? 1.0f : 1.0f - w);
    if (w < 0) return;
    function(call.graphs + 2 * i, w / 2);
    function(call.graphs + 2 * i + 1, w / 2);
}

// y of all graphs, [g, L d].
FSGC_INLINE Rows mixed(const LossCall& call) {
    const long wide = call.layers * call.width;
    Rows y(call.graphs * wide);
    for (long i = 0; i < call.graphs; ++i)
        each_part(call, i, [&](long row, float share) FSGC_INLINED {
            const float *x = call.found + row * wide, *keep = call.keep ? call.keep + row * wide : nullptr;
            float* to = y.data() + i * wide;
            for (long c = 0; c < wide; c += LANES)
                store(to + c, load(to + c) + share * (keep ? load(x + c) * load(keep + c) : load(x + c)));
        });
    return y;
}

FSGC_INLINE Rows fused(const LossCall& call, const Rows& y) {
    const long d = call.width, layers = call.layers;
    Rows z(call.graphs * d);
    for (long i = 0; i < call.graphs; ++i)
        for (long l = 0; l < layers; ++l) add_scaled(d, call.fusion[l], y.data() + (i * layers + l) * d, z.data() + i * d);
    return z;
}

FSGC_INLINE void fused_back(const LossCall& call, const Rows& y, const Rows& at_z, Rows& at_y) {
    const long d = call.width, layers = call.layers;
    std::vector<double> at_fusion(layers);
    for (long i = 0; i < call.graphs; ++i)
        for (long l = 0; l < layers; ++l) {
            const long at = (i * layers + l) * d;
            add_scaled(d, call.fusion[l], at_z.data() + i * d, at_y.data() + at);
            at_fusion[l] += product_of(d, at_z.data() + i * d, y.data() + at);
        }
    for (long l = 0; l < layers; ++l) call.grad_fusion[l] = static_cast<float>(at_fusion[l]);
}

FSGC_INLINE void mixed_back(const LossCall& call, const Rows& at_y) {
    const long wide = call.layers * call.width;
    for (long i = 0; i < call.graphs; ++i)
        each_part(call, i, [&](long row, float share) FSGC_INLINED {
            const float *from = at_y.data() + i * wide, *keep = call.keep ? call.keep + row * wide : nullptr;
            float* to = call.grad_found + row * wide;
            for (long c = 0; c < wide; c += LANES)
                store(to + c, keep ? share * load(from + c) * load(keep + c) : share * load(from + c));
        });
}

struct Score {
    double loss = 0, right = 0;
};

// The loss of one episode, and what it adds to the gradient at z [g, e].
FSGC_INLINE void score_episode(const LossCall& call, const int64_t* place, long e, const Rows& z, Rows& at_z, Score& score) {
    const long way = call.way, shots = call.shots, per_class = call.per_class;
    const float per_query = 1.0f / static_cast<float>(call.episodes * way * (per_class - shots));
    Rows prototype(way * e), at_prototype(way * e), distance(way), chance(way);
    for (long k = 0; k < way; ++k)
        for (long s = 0; s < shots; ++s)
            add_scaled(e, 1.0f / static_cast<float>(shots), z.data() + place[k * per_class + s] * e, prototype.data() + k * e);
    for (long label = 0; label < way; ++label)
        for (long query = shots; query < per_class; ++query) {
            const float* q = z.data() + place[label * per_class + query] * e;
            for (long k = 0; k < way; ++k) {
                Lanes squares{};
                for (long c = 0; c < e; c += LANES) {
                    const Lanes apart = load(q + c) - load(prototype.data() + k * e + c);
                    squares += apart * apart;
                }
                distance[k] = std::sqrt(total(squares));
            }
            const long nearest = std::min_element(distance.begin(), distance.end()) - distance.begin();
            float sum = 0;
            for (long k = 0; k < way; ++k) sum += chance[k] = std::exp(distance[nearest] - distance[k]);
            score.loss += std::log(sum) + distance[label] - distance[nearest];
            score.right += nearest == label;
            float* at_q = at_z.data() + place[label * per_class + query] * e;
            for (long k = 0; k < way; ++k) {
                if (distance[k] == 0) continue;
                const float slope = ((k == label) - chance[k] / sum) * per_query / distance[k];
                for (long c = 0; c < e; c += LANES) {
                    const Lanes grad = slope * (load(q + c) - load(prototype.data() + k * e + c));
                    add_to(at_q + c, grad);
                    add_to(at_prototype.data() + k * e + c, -grad);
                }
            }
        }
    for (long k = 0; k < way; ++k)
        for (long s = 0; s < shots; ++s)
            add_scaled(e, 1.0f / static_cast<float>(shots), at_prototype.data() + k * e, at_z.data() + place[k * per_class + s] * e);
}

}  // namespace

extern "C" void smf_gin_loss(const LossCall* call) {
    const long e = call->fusion ? call->width : call->layers * call->width;
    const Rows y = mixed(*call), joined = call->fusion ? fused(*call, y) : Rows();
    const Rows& z = call->fusion ? joined : y;
    Rows at_z(z.size()), at_y(call->fusion ? y.size() : 0);
    Score score;
    for (long b = 0; b < call->episodes; ++b)
        score_episode(*call, call->place + b * call->way * call->per_class, e, z, at_z, score);
    const double queries = static_cast<double>(call->episodes * call->way * (call->per_class - call->shots));
    call->result[0] = static_cast<float>(score.loss / queries);
    call->result[1] = static_cast<float>(score.right / queries);
    if (call->fusion) fused_back(*call, y, at_z, at_y);
    mixed_back(*call, call->fusion ? at_y : at_z);
}

// The distinct ones of `count` graphs in ascending order, and where each finds its own; how many they are.
extern "C" int64_t distinct_graphs(int64_t count, const int64_t* graphs, int64_t* distinct, int64_t* place) {
    std::vector<std::pair<int64_t, int64_t>> sorted(count);
    for (int64_t i = 0; i < count; ++i) sorted[i] = {graphs[i], i};
    std::sort(sorted.begin(), sorted.end());
    int64_t found = 0;
    for (const auto& [graph, from] : sorted) {
        if (!found || distinct[found - 1] != graph) distinct[found++] = graph;
        place[from] = found - 1;
    }
    return found;
}
