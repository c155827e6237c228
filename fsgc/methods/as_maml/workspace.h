// Memory for the arrays of an episode: taken one after the other, given back all at once, kept for the next episode.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace fsgc {

class Workspace {
   public:
    struct Mark {
        size_t piece, used;
    };

    // Room for `count` numbers and a vector more, aligned to cache lines; what was there before is there still.
    template <class T>
    T* take(size_t count) {
        const size_t bytes = (count * sizeof(T) + 127) / 64 * 64;
        while (piece_ < pieces_.size() && used_ + bytes > pieces_[piece_].size) ++piece_, used_ = 0;
        if (piece_ == pieces_.size()) {
            const size_t size = bytes > LEAST ? bytes : LEAST;
            pieces_.push_back({std::unique_ptr<char[]>(new char[size + 64]), size});
        }
        const uintptr_t start = (reinterpret_cast<uintptr_t>(pieces_[piece_].memory.get()) + 63) / 64 * 64 + used_;
        used_ += bytes;
        return reinterpret_cast<T*>(start);
    }

    template <class T>
    T* zeros(size_t count) {
        T* const taken = take<T>(count);
        memset(taken, 0, count * sizeof(T));
        return taken;
    }

    Mark mark() const { return {piece_, used_}; }
    void give_back(Mark to) { piece_ = to.piece, used_ = to.used; }

   private:
    static constexpr size_t LEAST = size_t(4) << 20;
    struct Piece {
        std::unique_ptr<char[]> memory;
        size_t size;
    };
    std::vector<Piece> pieces_;
    size_t piece_ = 0, used_ = 0;
};

}  // namespace fsgc
