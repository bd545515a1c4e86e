"""The flat form of documents: what is left out, and what a selection keeps."""

import numpy as np
import pytest

from data_prep.examples.token_store import TokenStore

DOCUMENTS = [(0, [[5, 6], [], [7]]), (1, [[]]), (3, [[8]]), (3, [[9, 10, 11], [12]])]


def _lists(store):
    return [
        (
            int(source),
            [
                store.ids[store.sentences[sentence] : store.sentences[sentence + 1]].tolist()
                for sentence in range(store.documents[number], store.documents[number + 1])
            ],
        )
        for number, source in enumerate(store.sources)
    ]


def test_sentences_and_documents_without_pieces_are_left_out():
    store = TokenStore.from_documents(DOCUMENTS)
    assert _lists(store) == [(0, [[5, 6], [7]]), (3, [[8]]), (3, [[9, 10, 11], [12]])]
    assert (store.num_documents, store.num_sentences, len(store.ids)) == (3, 5, 8)


@pytest.mark.parametrize("kept", [(1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_a_selection_is_the_store_of_what_was_selected(kept):
    store = TokenStore.from_documents(DOCUMENTS)
    expected = [document for document, keep in zip(_lists(store), kept) if keep]
    assert _lists(store.keep(np.array(kept, bool))) == expected


def test_ids_take_two_bytes_unless_the_vocabulary_is_larger():
    assert TokenStore.from_documents(DOCUMENTS, 65_536).ids.dtype == np.uint16
    large = TokenStore.from_documents([(0, [[65_536]])], 65_537)
    assert (large.ids.dtype, large.ids.tolist()) == (np.uint32, [65_536])
