package transfer

// bitmap is a set of sequences of a log, which are dense. The zero value is empty.
type bitmap struct{ words []uint64 }

func (b *bitmap) has(n uint64) bool {
	i := n / 64
	return i < uint64(len(b.words)) && b.words[i]&(1<<(n%64)) != 0
}

func (b *bitmap) set(n uint64) {
	i := n / 64
	if grow := int(i) + 1 - len(b.words); grow > 0 {
		b.words = append(b.words, make([]uint64, grow)...)
	}
	b.words[i] |= 1 << (n % 64)
}
