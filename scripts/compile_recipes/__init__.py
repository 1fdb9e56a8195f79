"""Recipes of models as other people export them, by name. The first line of each says what it is."""

from .images import (grid_detector, mobile_classifier, pyramid_segmenter, shuffled_classifier, small_detector,
                     text_recogniser)
from .sequences import file_type, graph_network, recurrent_tagger, speech_encoder, word_tagger
from .windows import window_transformer

RECIPES = {
    recipe.__name__: recipe
    for recipe in (file_type, recurrent_tagger, shuffled_classifier, graph_network, pyramid_segmenter, word_tagger,
                   mobile_classifier, small_detector, grid_detector, text_recogniser, window_transformer, speech_encoder)
}
